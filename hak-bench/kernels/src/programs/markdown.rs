//! Markdown that becomes HTML.

use pulldown_cmark::{Options, Parser, html};

use super::repository::{self, File};
use super::text;
use crate::kernel::{Group, Kernel, parameter};
use crate::measure::{Measured, measure};

pub(super) const KERNEL: Kernel = Kernel {
    name: "markdown",
    about: "pulldown-cmark turns the pages of the repository's documentation, with their tables, \
            into HTML, all of which is kept until the end of the pass",
    group: Group::Program,
    operation: "page",
    parameters: &[parameter("passes", 250)],
    run,
};

fn run(parameters: &[u64]) -> Measured {
    let &[passes] = parameters else { unreachable!("one number for each parameter") };
    let pages = repository::pages();
    measure(passes * pages.len() as u64, || work(passes, &pages))
}

#[inline(never)]
fn work(passes: u64, pages: &[File]) -> u64 {
    (0..passes).map(|_| pass(pages)).sum()
}

fn pass(pages: &[File]) -> u64 {
    let written: Vec<String> = pages.iter().map(|page| to_html(&page.text)).collect();
    written.iter().map(|html| text::sum(html)).sum()
}

pub(super) fn to_html(markdown: &str) -> String {
    let mut written = String::new();
    html::push_html(&mut written, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    written
}
