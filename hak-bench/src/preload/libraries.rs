//! The allocators as libraries: found, built, and tried before hours are spent.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use indicatif::ProgressBar;

use crate::children;
use crate::choice::unknown;
use crate::failure::Failure;
use crate::peers::{PEERS, Peer, Versions};
use crate::results::{self, PeerKind};
use crate::subjects::{NotBuilt, cargo_build, root};
use crate::text;

/// The dynamic linker's list of libraries that come first.
const PRELOAD: &str = "LD_PRELOAD";

/// An allocator as a library.
#[derive(Debug, Clone, Copy)]
pub(super) enum Library {
    /// The C library's: nothing is preloaded.
    System(&'static Peer),
    /// Built from a spec.
    Hak(&'static Peer),
    Installed(&'static Installed),
}

/// A library that the dynamic linker finds.
#[derive(Debug)]
pub(super) struct Installed {
    name: &'static str,
    /// The file that the dynamic linker is asked for.
    file: &'static str,
    /// Debian's.
    package: &'static str,
    about: &'static str,
}

/// Those of [`PEERS`] that are libraries, too.
const OF_PEERS: [&str; 4] = ["system", "hak-general", "hak-batch", "hak-parallel"];

static INSTALLED: [Installed; 3] = [
    Installed {
        name: "jemalloc",
        file: "libjemalloc.so.2",
        package: "libjemalloc2",
        about: "jemalloc: arenas, and caches of each thread",
    },
    Installed {
        name: "mimalloc2",
        file: "libmimalloc.so.2",
        package: "libmimalloc2.0",
        about: "mimalloc 2: a heap for each thread, a free list for each page",
    },
    Installed {
        name: "tcmalloc-minimal",
        file: "libtcmalloc_minimal.so.4",
        package: "libtcmalloc-minimal4",
        about: "gperftools' TCMalloc: a cache for each thread, lists in the middle",
    },
];

/// All, in the order of the tables.
pub(super) fn all() -> Vec<Library> {
    let peers = PEERS.iter().filter(|peer| OF_PEERS.contains(&peer.name));
    let library = |peer: &'static Peer| match peer.kind() {
        PeerKind::Hak => Library::Hak(peer),
        _ => Library::System(peer),
    };
    peers.map(library).chain(INSTALLED.iter().map(Library::Installed)).collect()
}

/// Those of these names, or all where there is none.
pub(super) fn chosen(names: &[String]) -> Result<Vec<Library>, Failure> {
    let all = all();
    for name in names {
        if !all.iter().any(|library| library.name() == name) {
            return Err(unknown("library", name, all.iter().map(Library::name)));
        }
    }
    let asked = |library: &Library| names.is_empty() || names.iter().any(|it| it == library.name());
    Ok(all.into_iter().filter(asked).collect())
}

impl Library {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Library::System(peer) | Library::Hak(peer) => peer.name,
            Library::Installed(installed) => installed.name,
        }
    }

    pub(super) fn about(&self) -> &'static str {
        match self {
            Library::System(peer) | Library::Hak(peer) => peer.about,
            Library::Installed(installed) => installed.about,
        }
    }

    /// As results tell of it; `path` is that of [`ready`].
    pub(super) fn told(
        &self,
        path: Option<&Path>,
        versions: &Versions,
    ) -> Result<results::Peer, Failure> {
        let text_bytes = path.map_or(Ok(0), text::bytes)?;
        Ok(match self {
            Library::System(peer) | Library::Hak(peer) => peer.told(versions, text_bytes),
            Library::Installed(installed) => results::Peer {
                name: installed.name.to_owned(),
                version: installed.version(),
                about: self.about().to_owned(),
                kind: PeerKind::Other,
                text_bytes,
            },
        })
    }
}

impl Installed {
    /// Of the package; only its name where the system has packages of another kind.
    fn version(&self) -> String {
        let query = ["--show", "--showformat=${Version}", self.package];
        let output = children::output(Command::new("dpkg-query").args(query));
        let said = output.ok().filter(|output| output.status.success());
        let version = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        format!("{} {}", self.package, version.as_deref().unwrap_or("(not from Debian)"))
    }
}

/// The file of each, which `program` was seen to load. None of the system's.
pub(super) fn ready(
    libraries: &[Library],
    folder: &Path,
    program: &Path,
) -> Result<Vec<Option<PathBuf>>, Failure> {
    let mut hak = None;
    let mut paths = Vec::new();
    for library in libraries {
        paths.push(match library {
            Library::System(_) => None,
            Library::Hak(peer) => {
                if hak.is_none() {
                    hak = Some(command()?);
                }
                let path = build(peer, hak.as_deref().unwrap_or(Path::new("hak")), folder)?;
                let found = loaded(program, &path)?;
                if found.file != path {
                    return Err(found.failure(peer.name, "`hak run` says more"));
                }
                Some(path)
            }
            Library::Installed(installed) => {
                let found = loaded(program, Path::new(installed.file))?;
                if found.file.file_name() != Some(installed.file.as_ref()) {
                    let Installed { name, package, .. } = installed;
                    let help = format!(
                        "Debian's package `{package}` has it, and hak-bench/peers/install \
                         installs it; `--peers` chooses others"
                    );
                    return Err(found.failure(name, &help));
                }
                Some(found.file)
            }
        });
    }
    Ok(paths)
}

/// The variable that loads a library, or none.
pub(super) fn preload(library: Option<&Path>) -> Result<(String, String), Failure> {
    let Some(library) = library else { return Ok((PRELOAD.to_owned(), String::new())) };
    match library.to_str().filter(|path| !path.contains([' ', ':'])) {
        Some(path) => Ok((PRELOAD.to_owned(), path.to_owned())),
        None => Err(Failure::Failed(format!(
            "{} cannot be preloaded: to the dynamic linker a space or `:` ends a path\n\
             help: set CARGO_TARGET_DIR to a folder without",
            library.display()
        ))),
    }
}

/// Whose malloc a process has.
struct Found {
    file: PathBuf,
    /// What the dynamic linker said.
    complaint: String,
}

impl Found {
    fn failure(&self, name: &str, help: &str) -> Failure {
        let Found { file, complaint } = self;
        let complaint = complaint.trim().trim_start_matches("ERROR: ");
        let file = file.display();
        Failure::Failed(format!(
            "`{name}` cannot be preloaded: malloc is that of {file}\n{complaint}\nhelp: {help}"
        ))
    }
}

/// What the program has when it shall have a library. The dynamic linker goes on without one that
/// it does not find or cannot load.
fn loaded(program: &Path, library: &Path) -> Result<Found, Failure> {
    let (name, value) = preload(Some(library))?;
    let output = children::output(Command::new(program).arg("--allocator").env(name, value));
    let Output { status, stdout, stderr } = output
        .map_err(|error| Failure::could_not(format!("start {}", program.display()), error))?;
    let complaint = String::from_utf8_lossy(&stderr).into_owned();
    if !status.success() {
        let library = library.display();
        let message = format!("nothing runs on {library}: {status}\n{}", complaint.trim());
        return Err(Failure::Failed(message));
    }
    Ok(Found { file: String::from_utf8_lossy(&stdout).trim_end().into(), complaint })
}

/// The `hak` command of this tree.
fn command() -> Result<PathBuf, Failure> {
    let progress = ProgressBar::new_spinner().with_message("building hak");
    progress.enable_steady_tick(std::time::Duration::from_millis(100));
    let built = cargo_build(&["--package", "hak-cli", "--bin", "hak"]);
    progress.finish_and_clear();
    let built = built.map_err(|failure| match failure {
        NotBuilt::NotStarted(failure) => failure,
        NotBuilt::Said(said) => Failure::Failed(format!("could not build hak:\n{said}")),
    })?;
    let hak = built.into_iter().find(|(name, _)| name == "hak").map(|(_, path)| path);
    hak.ok_or_else(|| Failure::Failed("cargo does not name what it built for `hak`".to_owned()))
}

/// By `hak build`, which builds again only what has changed.
fn build(peer: &Peer, hak: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let path = folder.join(format!("lib{}.so", peer.name));
    let mut command = Command::new(hak);
    command
        .current_dir(root())
        .args(["build", peer.spec.unwrap_or_default(), "--output"])
        .arg(&path);
    let output = children::output(&mut command)
        .map_err(|error| Failure::could_not(format!("start {}", hak.display()), error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Failed(format!("could not build {}:\n{said}", path.display())));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::kernels::compile;
    use super::{INSTALLED, Installed, Library, all, chosen, preload, ready};

    #[test]
    fn no_name_means_all_and_another_is_told() {
        let names: Vec<_> = all().iter().map(Library::name).collect();
        let first = ["system", "hak-general", "hak-batch", "hak-parallel", "jemalloc"];
        assert_eq!(names[..5], first);
        assert_eq!(chosen(&[]).unwrap().len(), names.len());
        let failure = chosen(&["rusty".to_owned()]).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        let message = "no library is named `rusty`\nhelp: there are system, hak-general, ";
        assert!(failure.to_string().starts_with(message), "{failure}");
    }

    #[test]
    fn a_library_that_is_not_there_names_its_package() {
        static GONE: Installed = Installed { file: "libnowhere.so.7", ..INSTALLED[0] };
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path()).unwrap();
        let failure = ready(&[Library::Installed(&GONE)], folder.path(), &program).unwrap_err();
        let message = failure.to_string();
        for part in [
            "`jemalloc` cannot be preloaded: malloc is that of /",
            "object 'libnowhere.so.7' from LD_PRELOAD cannot be preloaded (",
            "help: Debian's package `libjemalloc2` has it",
        ] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(failure.exit_code(), 1);
    }

    /// A library that the linker loads, but that has no malloc.
    #[test]
    fn a_library_without_malloc_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path()).unwrap();
        let source = folder.path().join("none.c");
        fs::write(&source, "int nothing;\n").unwrap();
        let library = folder.path().join("libnone.so");
        let compiled = std::process::Command::new("cc")
            .args(["-shared", "-o"])
            .args([&library, &source])
            .status();
        assert!(compiled.unwrap().success());
        let found = super::loaded(&program, &library).unwrap();
        assert_ne!(found.file, library);
        assert_eq!(found.complaint, "");
    }

    #[test]
    fn a_path_that_the_linker_would_split_is_refused() {
        assert_eq!(preload(None).unwrap().1, "");
        assert_eq!(preload(Some(Path::new("/a/b.so"))).unwrap().1, "/a/b.so");
        let message = preload(Some(Path::new("/my own/b.so"))).unwrap_err().to_string();
        assert!(message.starts_with("/my own/b.so cannot be preloaded: "), "{message}");
    }
}
