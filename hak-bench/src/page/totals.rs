//! The summary: every peer over all kernels.

use maud::{Markup, html};

use crate::markdown::sentence;
use crate::notes;
use crate::page::bars::Track;
use crate::page::figures::{counted, kibibytes, times};
use crate::page::marks::Look;
use crate::page::scatter::Mark;
use crate::page::verdict::Verdict;
use crate::results::{Peer, PeerKind, Results};
use crate::spread::geometric_mean;
use crate::summary::{self, Comparison, Standing};

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Total<'a> {
    pub(crate) mark: Mark<'a>,
    /// None of the kernels' own specs.
    peer: Option<&'a Peer>,
    /// Geometric mean of the peaks as multiples of the system's.
    peak_to_system: Option<f64>,
}

/// Those that ran beside a peer to compare with, the fastest first.
pub(crate) fn totals<'a>(results: &'a Results, comparisons: &[Comparison<'a>]) -> Vec<Total<'a>> {
    let of_peer = |peer: &'a Peer| {
        let overall = summary::overall(comparisons, &peer.name)?;
        let mark = Mark { name: &peer.name, look: Look::of(peer), overall };
        let peak_to_system = peak_to_system(comparisons, |it| it.standing(&peer.name));
        Some(Total { mark, peer: Some(peer), peak_to_system })
    };
    let mut totals: Vec<Total> = results.peers.iter().filter_map(of_peer).collect();
    if let Some(overall) = summary::overall_own(comparisons) {
        let mark = Mark { name: "own spec", look: Look::Own, overall };
        let peak_to_system = peak_to_system(comparisons, Comparison::own);
        totals.push(Total { mark, peer: None, peak_to_system });
    }
    totals.sort_by(|a, b| a.mark.overall.to_best.total_cmp(&b.mark.overall.to_best));
    totals
}

fn peak_to_system<'a>(
    comparisons: &[Comparison<'a>],
    pick: impl for<'b> Fn(&'b Comparison<'a>) -> Option<&'b Standing<'a>>,
) -> Option<f64> {
    let ratio = |comparison: &Comparison<'a>| {
        let mut standings = comparison.standings.iter();
        let system = standings.find(|standing| standing.peer.kind == PeerKind::System)?;
        Some(pick(comparison)?.peak / system.peak)
    };
    let ratios: Vec<f64> = comparisons.iter().filter_map(ratio).collect();
    (!ratios.is_empty()).then(|| geometric_mean(&ratios))
}

pub(crate) fn section(totals: &[Total], comparisons: &[Comparison]) -> Markup {
    html! {
        section #summary {
            h2 { "Summary" }
            (tiles(totals, comparisons))
            @for note in notes::of(comparisons) { p.note { (sentence(&note)) "." } }
            @if totals.is_empty() {
                p.note {
                    "No kernel ran on an allocator that is not hak’s: there is nothing to compare "
                    "with."
                }
            } @else {
                (table(totals, comparisons.len()))
            }
        }
    }
}

/// What hak's own specs came to, in four figures.
fn tiles(totals: &[Total], comparisons: &[Comparison]) -> Markup {
    let Some(own) = totals.iter().find(|total| total.peer.is_none()) else {
        return Markup::default();
    };
    let overall = own.mark.overall;
    let verdicts: Vec<Verdict> = comparisons
        .iter()
        .filter_map(|it| Some(Verdict::of(it.own()?.to_best?, it.noise)))
        .collect();
    let tally = |verdict| verdicts.iter().filter(|it| **it == verdict).count();
    let tile = |figure: String, said: &str| html! { div { strong { (figure) } span { (said) } } };
    html! {
        p { "On each kernel the hak spec that is meant for it takes, in the geometric mean:" }
        div.tiles {
            (tile(times(overall.to_best), "the time of each kernel’s fastest other allocator"))
            @if let Some(to_system) = overall.to_system {
                (tile(times(to_system), "the time of the system’s allocator"))
            }
            (tile(
                times(overall.peak_to_leanest),
                "the peak of each kernel’s leanest other allocator",
            ))
            div {
                strong.tally {
                    @for verdict in Verdict::ALL {
                        @if verdict != Verdict::Unknown || tally(verdict) > 0 {
                            span.verdict.(verdict.word()) { (tally(verdict)) " " (verdict.word()) }
                        }
                    }
                }
                span {
                    "than the fastest other allocator on so many kernels; level is within the noise"
                    @if tally(Verdict::Unknown) > 0 { ", unknown without a noise floor" }
                }
            }
        }
    }
}

fn table(totals: &[Total], kernels: usize) -> Markup {
    let most = |figure: fn(&Mark) -> f64| {
        totals.iter().map(|total| figure(&total.mark)).fold(1.0, f64::max)
    };
    let time = Track::new(most(|it| it.overall.to_best), Some(1.0));
    let peak = Track::new(most(|it| it.overall.peak_to_leanest), Some(1.0));
    html! {
        table.totals.bars role="table" {
            caption {
                "Geometric means over the kernels, the fastest first. “Best” and “leanest” are, "
                "for each kernel anew, the best of all allocators but hak’s; “own spec” is, on "
                "each kernel, the spec that is meant for it."
            }
            thead role="rowgroup" {
                tr role="row" {
                    th role="columnheader" scope="col" { "allocator" }
                    th.figure role="columnheader" scope="col" { "time" small { "× best" } }
                    th.picture role="columnheader" scope="col" { span.unseen { "bar of the time" } }
                    th.figure role="columnheader" scope="col" { "time" small { "× system" } }
                    th.figure role="columnheader" scope="col" { "peak" small { "× leanest" } }
                    th.picture role="columnheader" scope="col" { span.unseen { "bar of the peak" } }
                    th.figure role="columnheader" scope="col" { "peak" small { "× system" } }
                    th.figure role="columnheader" scope="col" { ".text" small { "KiB" } }
                }
            }
            tbody role="rowgroup" {
                @for total in totals { (row(total, kernels, time, peak)) }
            }
        }
    }
}

fn row(total: &Total, kernels: usize, time: Track, peak: Track) -> Markup {
    let Mark { name, look, overall } = &total.mark;
    let or_dash = |ratio: Option<f64>| ratio.map_or("–".to_owned(), times);
    html! {
        tr.(look.class()) role="row" {
            th role="rowheader" scope="row" {
                span.name { (name) }
                @if let Some(peer) = total.peer { small { (peer.version) } }
                @if overall.kernels < kernels {
                    small.missing { (overall.kernels) " of " (counted(kernels, "kernel")) }
                }
            }
            td.figure.main role="cell" { (times(overall.to_best)) }
            td.picture.time role="cell" aria-hidden="true" style=[time.style(Some(1.0), None)] {
                (time.bar(overall.to_best))
            }
            td.figure role="cell" { (or_dash(overall.to_system)) }
            td.figure.main role="cell" { (times(overall.peak_to_leanest)) }
            td.picture.peak role="cell" aria-hidden="true" style=[peak.style(Some(1.0), None)] {
                (peak.bar(overall.peak_to_leanest))
            }
            td.figure role="cell" { (or_dash(total.peak_to_system)) }
            td.figure role="cell" {
                (total.peer.map_or("–".to_owned(), |peer| kibibytes(peer.text_bytes as f64)))
            }
        }
    }
}
