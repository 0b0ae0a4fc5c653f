//! HTML that is read into a tree, from which nodes are selected.

use scraper::{Html, Selector};

use super::markdown;
use super::repository;
use super::text;
use crate::kernel::{Group, Kernel, parameter};
use crate::measure::{Measured, measure};

pub(super) const KERNEL: Kernel = Kernel {
    name: "html",
    about: "scraper reads the repository's documentation as HTML into one tree for each page, and \
            collects the text of headings, code, cells of tables and links",
    group: Group::Program,
    operation: "page",
    parameters: &[parameter("passes", 60)],
    run,
};

const SELECTORS: [&str; 4] = ["h1, h2, h3", "p > code", "table tbody td", "a[href]"];

fn run(parameters: &[u64]) -> Measured {
    let &[passes] = parameters else { unreachable!("one number for each parameter") };
    let pages = repository::pages();
    let pages: Vec<String> = pages.iter().map(|page| markdown::to_html(&page.text)).collect();
    let select = |text| Selector::parse(text).expect("the selectors are constant");
    let selectors = SELECTORS.map(select);
    measure(passes * pages.len() as u64, || work(passes, &pages, &selectors))
}

#[inline(never)]
fn work(passes: u64, pages: &[String], selectors: &[Selector]) -> u64 {
    (0..passes).map(|_| pages.iter().map(|page| read(page, selectors)).sum::<u64>()).sum()
}

fn read(page: &str, selectors: &[Selector]) -> u64 {
    let tree = Html::parse_document(page);
    let texts = texts(&tree, selectors);
    texts.iter().map(|text| text::sum(text)).sum()
}

/// Of all nodes that are selected, with everything below them.
fn texts(tree: &Html, selectors: &[Selector]) -> Vec<String> {
    let nodes = selectors.iter().flat_map(|selector| tree.select(selector));
    nodes.map(|node| node.text().collect()).collect()
}

#[cfg(test)]
mod tests {
    use scraper::{Html, Selector};

    use super::{SELECTORS, texts};
    use crate::programs::markdown;

    #[test]
    fn the_selected_texts_are_collected() {
        let page = "# One\n\nsome `code` and [*a* link](there)\n\n|a|b|\n|---|---|\n|cell|`c`|\n";
        let tree = Html::parse_document(&markdown::to_html(page));
        let selectors = SELECTORS.map(|text| Selector::parse(text).unwrap());
        assert_eq!(texts(&tree, &selectors), ["One", "code", "cell", "c", "a link"]);
    }
}
