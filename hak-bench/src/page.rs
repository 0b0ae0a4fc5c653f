//! A run as one page of HTML that loads nothing.
//!
//! | file | what is in it |
//! |---|---|
//! | `head.rs` | what was run, on what, and how to read it |
//! | `totals.rs`, `scatter.rs` | each peer over all kernels: a table, and time against memory |
//! | `glance.rs`, `kernel.rs` | all kernels in a line each; a kernel with a bar for each peer |
//! | `resident.rs` | memory over time |
//! | `failures.rs` | what did not run |
//! | `bars.rs` | how long a bar is |
//! | `frame.rs`, `labels.rs` | the axes of a picture; places for its names |
//! | `figures.rs`, `marks.rs`, `verdict.rs` | how a figure and a peer look; what is said |
//! | `style.css`, `script.js` | the page's look; what a pointer or the focus shows |
//! | `made_up.rs`, `browser.rs`, `questions.js` | for tests: results, and the page in Chromium |

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::page::scatter::Mark;
use crate::results::Results;
use crate::summary::{self, Comparison};

mod bars;
#[cfg(test)]
mod browser;
mod failures;
mod figures;
mod frame;
mod glance;
mod head;
mod kernel;
mod labels;
#[cfg(test)]
pub(crate) mod made_up;
mod marks;
mod resident;
mod scatter;
mod totals;
mod verdict;

/// Nothing may be loaded, whatever the results hold.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The whole page.
pub(crate) fn render(results: &Results) -> String {
    let comparisons = summary::comparisons(results);
    let totals = totals::totals(results, &comparisons);
    let marks: Vec<Mark> = totals.iter().map(|total| total.mark.clone()).collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "hak beside its peers" }
                style { (PreEscaped(include_str!("page/style.css"))) }
            }
            body {
                (head::header(results))
                main {
                    (totals::section(&totals, &comparisons))
                    (head::how_to_read())
                    (scatter::section(&marks))
                    (glance::section(&comparisons))
                    (failures::section(&results.kernels))
                    @for (group, members) in groups(&comparisons) { (kernels(group, &members)) }
                    (head::peers(results))
                }
                script { (PreEscaped(include_str!("page/script.js"))) }
            }
        }
    };
    page.into_string()
}

/// The kernels of each group, both in the order of the run.
fn groups<'a, 'b>(comparisons: &'b [Comparison<'a>]) -> Vec<(&'a str, Vec<&'b Comparison<'a>>)> {
    let mut groups: Vec<(&str, Vec<&Comparison>)> = Vec::new();
    for comparison in comparisons {
        let name = comparison.kernel.group.as_str();
        match groups.iter_mut().find(|(group, _)| *group == name) {
            Some((_, members)) => members.push(comparison),
            None => groups.push((name, vec![comparison])),
        }
    }
    groups
}

fn kernels(group: &str, members: &[&Comparison]) -> Markup {
    let title = match group {
        "pattern" => "Patterns of one thread",
        "threads" => "Several threads",
        "program" => "Real programs",
        other => other,
    };
    html! {
        section.group {
            h2 { (title) }
            @for comparison in members { (kernel::section(comparison)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{made_up, render};
    use crate::results::{PeerKind, Results};
    use crate::summary::tests::rounds;

    /// Of the made-up results those of some peers.
    fn with(keep: impl Fn(&str, PeerKind) -> bool) -> Results {
        let mut results = made_up::results();
        results.peers.retain(|peer| keep(&peer.name, peer.kind));
        let names: Vec<_> = results.peers.iter().map(|peer| peer.name.clone()).collect();
        for kernel in &mut results.kernels {
            kernel.rows.retain(|row| names.contains(&row.peer));
        }
        results
    }

    /// What a page that has every kernel says of each.
    fn assert_is_whole(page: &str, results: &Results) {
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        for kernel in &results.kernels {
            assert!(page.contains(&format!("<h3>{}</h3>", kernel.name)), "{}", kernel.name);
        }
        for peer in &results.peers {
            let name = format!("<span class=\"name\">{}</span>", peer.name);
            // On each kernel, and in the list of allocators.
            let found = page.matches(&name).count();
            assert!(found > results.kernels.len(), "{} is there {found} times", peer.name);
        }
        assert!(!page.contains("NaN") && !page.contains(">inf"), "a figure is no number");
    }

    #[test]
    fn every_kernel_and_peer_is_on_the_page() {
        let results = made_up::results();
        assert_eq!((results.peers.len(), results.kernels.len()), (15, 36));
        let page = render(&results);
        assert_is_whole(&page, &results);
        let control = "<dd>hak-general ran twice in each round</dd>".to_owned();
        for told in
            [&results.machine, &results.compiler, &results.commit, &results.command, &control]
        {
            assert!(page.contains(told.as_str()), "{told}");
        }
        assert!(page.contains("made up"));
    }

    #[test]
    fn what_failed_is_told_with_its_reason() {
        let page = render(&made_up::results());
        let reason = "ended by signal 11 (SIGSEGV)\nmade up: &lt;no&gt; &amp; nowhere";
        // On its kernel, and in the list of what did not run.
        assert_eq!(page.matches(reason).count(), 2);
        assert!(page.contains("35 of 36 kernels"));
        assert!(page.contains("The control failed: no difference is claimed."));
    }

    #[test]
    fn of_one_round_nothing_is_claimed() {
        let page = render(&rounds(1));
        assert!(page.contains("36 kernels on 15 allocators, in 1 round."));
        let why = "One round has no noise floor: no difference is claimed.";
        assert_eq!(page.matches(why).count(), 35);
        let noted = "One round has no noise floor: no difference is claimed on 35 kernels.";
        assert_eq!(page.matches(noted).count(), 1);
        for claim in ["faster", "level", "slower"] {
            let claim = format!("<span class=\"verdict {claim}\">{claim}");
            assert!(!page.contains(&claim), "{claim}");
        }
    }

    #[test]
    fn an_own_spec_that_was_not_asked_for_has_not_failed() {
        let results = with(|peer, _| peer != "hak-web");
        let page = render(&results);
        let told = "Its own spec, <b>hak-web</b>, was not among the allocators.";
        assert_eq!(page.matches(told).count(), 3);
        let noted = "The own spec of json, tokio, web was not among the peers: hak-web.";
        assert!(page.contains(noted) && !page.contains(">not run<"));
        let mut failed = made_up::results();
        for row in failed.kernels.iter_mut().flat_map(|kernel| &mut kernel.rows) {
            if row.peer == "hak-web" {
                row.samples.clear();
            }
        }
        let page = render(&failed);
        assert_eq!(page.matches("Its own spec, <b>hak-web</b>, did not run.").count(), 3);
        assert!(!page.contains("was not among") && page.contains(">not run<"));
    }

    #[test]
    fn text_is_no_markup() {
        const TEXT: &str = "<script>alert(\"1\")</script>&'";
        let mut results = made_up::results();
        for text in [&mut results.machine, &mut results.compiler, &mut results.commit] {
            TEXT.clone_into(text);
        }
        TEXT.clone_into(&mut results.command);
        results.kernels.truncate(1);
        let kernel = &mut results.kernels[0];
        for text in [&mut kernel.name, &mut kernel.group, &mut kernel.about, &mut kernel.operation]
        {
            TEXT.clone_into(text);
        }
        for (peer, row) in results.peers.iter_mut().zip(&mut kernel.rows) {
            peer.name += TEXT;
            row.peer.clone_from(&peer.name);
            TEXT.clone_into(&mut peer.version);
            TEXT.clone_into(&mut peer.about);
        }
        kernel.own.clone_from(&results.peers[11].name);
        kernel.control.of.clone_from(&kernel.own);
        kernel.rows[3].failure = Some(TEXT.to_owned());
        let page = render(&results);
        // The page's own.
        assert_eq!(page.matches("<script>").count(), 1);
        assert!(!page.contains("alert(\"1\")"), "quotes could end an attribute");
        assert!(page.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;"));
    }

    #[test]
    fn nothing_is_loaded() {
        let page = render(&made_up::results());
        for attribute in ["src=", "@import", "url(", "<link", "<iframe", "<img", "<object"] {
            assert!(!page.contains(attribute), "{attribute}");
        }
        let links: Vec<&str> = page.split("href=\"").skip(1).collect();
        assert!(links.len() >= 36, "there are {} links", links.len());
        assert!(links.iter().all(|link| link.starts_with('#')), "a link leads away");
    }

    #[test]
    fn a_link_has_its_end() {
        let page = render(&made_up::results());
        for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(page.matches(&format!("id=\"{link}\"")).count(), 1, "{link}");
        }
    }

    #[test]
    fn an_empty_run_has_a_page() {
        let mut results = made_up::results();
        results.kernels.clear();
        assert!(render(&results).contains("there is nothing to compare with"));
        results.peers.clear();
        let page = render(&results);
        assert!(page.contains("0 kernels on 0 allocators"));
        assert!(page.ends_with("</html>"));
    }

    #[test]
    fn peers_may_be_few() {
        for name in ["system", "jemalloc", "hak-general"] {
            let results = with(|peer, _| peer == name);
            assert_is_whole(&render(&results), &results);
        }
        let results = with(|_, kind| kind == PeerKind::Hak);
        let page = render(&results);
        assert_is_whole(&page, &results);
        assert!(page.contains("there is nothing to compare with"));
    }

    #[test]
    fn the_system_may_be_missing() {
        let results = with(|_, kind| kind != PeerKind::System);
        let page = render(&results);
        assert_is_whole(&page, &results);
        assert!(!page.contains("the time of the system’s allocator"));
    }

    #[test]
    fn figures_may_be_nothing() {
        let mut results = made_up::results();
        for row in results.kernels.iter_mut().flat_map(|kernel| &mut kernel.rows) {
            for sample in &mut row.samples {
                (sample.nanoseconds, sample.peak_resident_bytes) = (0.0, 0);
            }
            row.resident.iter_mut().for_each(|point| (point.milliseconds, point.bytes) = (0, 0));
        }
        assert_is_whole(&render(&results), &results);
    }
}
