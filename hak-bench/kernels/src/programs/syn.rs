//! Rust that is read into a syntax tree and printed again.

use super::repository::{self, File};
use super::stop::stop;
use super::text;
use crate::kernel::{Group, Kernel, parameter};
use crate::measure::{Measured, measure};

pub(super) const KERNEL: Kernel = Kernel {
    name: "syn",
    about: "syn reads each of the repository's own sources into a syntax tree, and prettyplease \
            prints it; the trees are kept until the end of the pass",
    group: Group::Program,
    operation: "file",
    parameters: &[parameter("passes", 2)],
    run,
};

fn run(parameters: &[u64]) -> Measured {
    let &[passes] = parameters else { unreachable!("one number for each parameter") };
    let files = repository::sources();
    measure(passes * files.len() as u64, || work(passes, &files))
}

#[inline(never)]
fn work(passes: u64, files: &[File]) -> u64 {
    (0..passes).map(|_| pass(files)).sum()
}

fn pass(files: &[File]) -> u64 {
    let trees: Vec<syn::File> = files.iter().map(read).collect();
    trees.iter().map(|tree| text::sum(&prettyplease::unparse(tree))).sum()
}

fn read(file: &File) -> syn::File {
    syn::parse_file(&file.text)
        .unwrap_or_else(|why| stop(format_args!("could not read {}: {why}", file.path)))
}
