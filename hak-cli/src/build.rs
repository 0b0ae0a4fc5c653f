//! `hak build`: a library for programs in C and C++ from a spec.

use std::fs;
use std::path::{Path, PathBuf};

use hak_spec::Spec;

use crate::args::Build;
use crate::library::{self, Result};
use crate::source::{self, Problems};
use crate::status::{Status, fail, tell};

pub(crate) fn run(args: &Build) -> Status {
    let spec = match source::load(&args.spec) {
        Ok(spec) => spec,
        Err(report) => return Problems::default().show(&report),
    };
    match build(args, &spec) {
        Ok(()) => Status::Fine,
        Err(why) => fail(why),
    }
}

fn build(args: &Build, spec: &Spec) -> Result<()> {
    let library = library::of(&args.spec, spec)?;
    let usual = || PathBuf::from(format!("libhak_{}.so", spec.name.to_lowercase()));
    let shared = args.output.clone().or_else(|| args.archive.is_none().then(usual));
    if shared.is_some() && shared == args.archive {
        return Err(format!(
            "`{}` cannot be both the library and the archive\n   = help: name two files",
            shared.unwrap_or_default().display()
        ));
    }
    let targets = [(&library.shared, shared), (&library.archive, args.archive.clone())];
    for (made, target) in targets {
        if let Some(target) = target {
            put(made, &target)?;
        }
    }
    Ok(())
}

/// Copies what was made to where it is wanted, at once: a program may have loaded what is there.
fn put(made: &Path, target: &Path) -> Result<()> {
    if target.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(format!(
            "`{}` is no regular file, and stays what it is\n   = help: name another file",
            target.display()
        ));
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let put = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
        // The file's rights are copied, too.
        let bytes = fs::copy(made, file.path())?;
        file.persist(target)?;
        Ok(bytes)
    });
    let bytes = put.map_err(|error| {
        format!(
            "cannot write `{}`: {error}\n   = help: name a file in a folder that is there and may \
             be written to",
            target.display()
        )
    })?;
    tell(format_args!("{}: {} KiB", target.display(), bytes.div_ceil(1 << 10)));
    Ok(())
}
