//! What was run, on what, and how to read it.

use maud::{Markup, html};

use crate::page::bars::CUT;
use crate::page::figures::{counted, kibibytes};
use crate::page::marks::Look;
use crate::results::{Reached, Results};
use crate::spread::CONFIDENCE;

/// The top of the page.
pub(crate) fn header(results: &Results) -> Markup {
    let Results { machine, compiler, commit, command, peers, kernels, .. } = results;
    let lead = format!(
        "{} on {}, {}. Each run is a process of its own, and in every round every allocator has \
         its turn on every kernel.",
        counted(kernels.len(), "kernel"),
        counted(peers.len(), "allocator"),
        match results.rounds_asked {
            None => format!("in {}", results.rounds_told()),
            Some(_) => results.rounds_told(),
        },
    );
    html! {
        header {
            h1 { "hak beside its peers" }
            p.lead { (lead) }
            dl.facts {
                div { dt { "Machine" } dd { (machine) } }
                div { dt { "Compiler" } dd { (compiler) } }
                div {
                    dt { "Commit" }
                    dd {
                        code { (commit) }
                        @if commit.ends_with("-dirty") { " with changes that are not in it" }
                    }
                }
                @if !kernels.is_empty() {
                    div { dt { "Control" } dd { (results.control()) " ran twice in each round" } }
                }
                div { dt { "Command" } dd { code { "hak-bench " (command) } } }
            }
        }
    }
}

/// Each allocator with its version.
pub(crate) fn peers(Results { peers, reached, .. }: &Results) -> Markup {
    let code = match reached {
        Reached::Linked => "The code is that of a program which has all kernels of the run.",
        Reached::Preloaded => "The code is that of the library; the system’s is in the C library.",
    };
    html! {
        section #allocators {
            h2 { "Allocators" }
            p.note { (code) }
            div.scroll tabindex="0" role="region" aria-label="Allocators" {
                table.plain {
                    thead {
                        tr {
                            th scope="col" { "allocator" }
                            th scope="col" { "version" }
                            th scope="col" { "what it is" }
                            th.figure scope="col" { "code (.text), KiB" }
                        }
                    }
                    tbody {
                        @for peer in peers {
                            tr.(Look::of(peer).class()) {
                                th scope="row" { span.name { (peer.name) } }
                                td { (peer.version) }
                                td.words { (peer.about) }
                                td.figure { (kibibytes(peer.text_bytes as f64)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn how_to_read() -> Markup {
    let time = format!(
        "Wall clock of a kernel’s timed part, for each of its operations: the median of the \
         rounds. The whisker shows bounds that hold the median of all runs there could be with \
         {:.0} % (sign test; with fewer than six rounds less surely).",
        CONFIDENCE * 100.0
    );
    let bars = format!(
        "From nothing at the left; the dashed line is the best. A bar with a torn end is longer \
         than {CUT} times the best, and cut."
    );
    let terms = [
        ("Time", time.as_str()),
        (
            "× best, × system",
            "The median of the ratios taken round by round, so that a drift of the machine’s speed \
             touches both sides. Below 1 is faster. The best is the fastest allocator that is not \
             hak’s, for each kernel anew: a harder measure than any one of them.",
        ),
        (
            "Noise floor",
            "One allocator ran twice in every round, under two names. How far the bounds of the \
             ratio of the two are from 1 is the noise floor: the grey band round the best. A \
             difference is called one, faster or slower, where it is larger than that and its \
             bounds do not have 1 between them.",
        ),
        (
            "Peak",
            "The most memory that the whole process had resident at a time, the median of the \
             rounds. The leanest is the one with the least that is not hak’s.",
        ),
        (
            "Own spec",
            "hak makes an allocator from a spec. Which of its specs is meant for a kernel does not \
             depend on what is measured.",
        ),
        ("Bars", bars.as_str()),
    ];
    html! {
        section #reading {
            h2 { "How to read it" }
            dl.reading {
                @for (term, said) in terms { div { dt { (term) } dd { (said) } } }
            }
        }
    }
}
