//! A kernel: a bar for each peer's time and peak, its verdict, and the rest of what was counted.

use maud::{Markup, html};

use crate::markdown::sentence;
use crate::page::bars::Track;
use crate::page::figures::{Unit, grouped, mebibytes, number, percent, times};
use crate::page::marks::Look;
use crate::page::resident;
use crate::page::verdict::Verdict;
use crate::results::{Kernel, Row, Sample};
use crate::summary::{Comparison, Standing};

/// What links to a kernel's section name.
pub(crate) fn id(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    format!("kernel-{}", name.chars().map(plain).collect::<String>())
}

pub(crate) fn section(comparison: &Comparison) -> Markup {
    let kernel = comparison.kernel;
    html! {
        article.kernel id=(id(&kernel.name)) {
            h3 { (kernel.name) }
            p.about { (kernel.about) }
            (verdict(comparison))
            (Bars::of(comparison).table())
            @for (row, reason) in missing(kernel) {
                p.failure { b { (row.peer) } " did not run: " span.reason { (reason) } }
            }
            (resident::details(comparison))
            @if !comparison.standings.is_empty() { (counts(comparison)) }
        }
    }
}

/// How the own spec stands, in a sentence, and the noise floor.
fn verdict(comparison: &Comparison) -> Markup {
    let Comparison { kernel, best, noise, .. } = comparison;
    html! {
        p.finding {
            @match comparison.own().and_then(|own| own.to_best) {
                Some(ratio) => {
                    @let verdict = Verdict::of(ratio, *noise);
                    span.verdict.(verdict.word()) { (verdict.word()) }
                    " " b { (kernel.own) } ", its own spec, takes "
                    b { (times(ratio.median)) }
                    @if comparison.own().is_some_and(Standing::has_bounds) {
                        " (" (number(ratio.low)) "–" (number(ratio.high)) ")"
                    }
                    " the time of " b { (best.unwrap_or("the best")) } ", the fastest other. "
                },
                None if !comparison.own_is_asked_for() => {
                    "Its own spec, " b { (kernel.own) } ", was not among the allocators. "
                },
                None if comparison.own().is_none() => {
                    "Its own spec, " b { (kernel.own) } ", did not run. "
                },
                None => {
                    "Its own spec, " b { (kernel.own) } ", has nothing to be compared with here. "
                },
            }
            span.floor {
                @match noise {
                    Ok(noise) => {
                        "Noise floor " (percent(*noise)) " (" (kernel.control.of) " beside itself)."
                    },
                    Err(reason) => { (sentence(reason.why())) ": no difference is claimed." },
                }
            }
        }
    }
}

/// The table of bars.
struct Bars<'a> {
    comparison: &'a Comparison<'a>,
    unit: Unit,
    time: Track,
    best: Option<f64>,
    peak: Track,
    leanest: Option<f64>,
}

impl<'a> Bars<'a> {
    fn of(comparison: &'a Comparison<'a>) -> Bars<'a> {
        let standing = |name: Option<&str>| name.and_then(|name| comparison.standing(name));
        let best = standing(comparison.best).map(|it| it.time.median);
        let leanest = standing(comparison.leanest).map(|it| it.peak);
        let most = |figure: fn(&Standing) -> f64| {
            comparison.standings.iter().map(figure).fold(0.0, f64::max)
        };
        let band = best.unwrap_or(0.0) * (1.0 + comparison.noise.unwrap_or(0.0));
        let first = comparison.standings.first().map_or(1.0, |it| it.time.median);
        Bars {
            comparison,
            unit: Unit::of(best.unwrap_or(first)),
            time: Track::new(most(|it| it.time.high).max(band), best),
            best,
            peak: Track::new(most(|it| it.peak), leanest),
            leanest,
        }
    }

    fn table(&self) -> Markup {
        let kernel = self.comparison.kernel;
        let unit = self.unit;
        html! {
            table.bars role="table" {
                caption.unseen { "Time and peak memory of each allocator on " (kernel.name) }
                thead role="rowgroup" {
                    tr role="row" {
                        th role="columnheader" scope="col" { "allocator" }
                        th.figure role="columnheader" scope="col" { "time" small { (unit.name) } }
                        th.figure.bounds role="columnheader" scope="col" {
                            "bounds" small { (unit.name) }
                        }
                        th.figure role="columnheader" scope="col" { "time" small { "× best" } }
                        th.picture.time role="columnheader" scope="col" {
                            (unit.name) " for one operation: " (kernel.operation)
                        }
                        th.figure role="columnheader" scope="col" { "peak" small { "MiB" } }
                        th.figure role="columnheader" scope="col" { "peak" small { "× leanest" } }
                        th.picture.peak role="columnheader" scope="col" { "peak memory, MiB" }
                    }
                }
                tbody role="rowgroup" {
                    @for standing in &self.comparison.standings { (self.row(standing)) }
                }
            }
        }
    }

    fn row(&self, standing: &Standing) -> Markup {
        let Standing { peer, time, to_best, peak, peak_to_leanest, .. } = standing;
        let Comparison { kernel, best, leanest, noise, .. } = self.comparison;
        let look = Look::on(kernel, peer);
        let is = |name: &Option<&str>| *name == Some(peer.name.as_str());
        let (median, unit) = (self.unit.number(time.median), self.unit);
        let bounds = match standing.has_bounds() {
            true => format!("{}–{}", unit.number(time.low), unit.number(time.high)),
            false => "–".to_owned(),
        };
        let ratio = to_best.map_or("–".to_owned(), |ratio| times(ratio.median));
        let told = format!("{}: {median} {} ({bounds}), {ratio} best", peer.name, unit.name);
        html! {
            tr.(look.class()) role="row" {
                th role="rowheader" scope="row" {
                    span.name { (peer.name) }
                    @if look == Look::Own { small { "own spec" } }
                    @if is(best) { small { "fastest other" } }
                    @if is(leanest) { small { "leanest other" } }
                }
                td.figure.main role="cell" { (median) }
                td.figure.bounds role="cell" { (bounds) }
                td.figure role="cell" { (ratio) }
                td.picture.time role="cell" aria-hidden="true" title=(told)
                    style=[self.time.style(self.best, noise.ok())]
                {
                    (self.time.bar_with_whisker(*time))
                }
                td.figure.main role="cell" { (mebibytes(*peak)) }
                td.figure role="cell" { (peak_to_leanest.map_or("–".to_owned(), times)) }
                td.picture.peak role="cell" aria-hidden="true"
                    style=[self.peak.style(self.leanest, None)]
                {
                    (self.peak.bar(*peak))
                }
            }
        }
    }
}

/// Each peer without samples, and why it has none.
pub(crate) fn missing(kernel: &Kernel) -> impl Iterator<Item = (&Row, &str)> {
    let missing = kernel.rows.iter().filter(|row| row.failure.is_some() || row.samples.is_empty());
    missing.map(|row| (row, row.failure.as_deref().unwrap_or("no samples, and no reason is given")))
}

/// A column of the counts: what it is, in a word and in a sentence.
type Count = (&'static str, &'static str, fn(&Sample) -> f64);

const COUNTS: [Count; 6] = [
    ("minor faults", "Page faults that needed no disk", |it| it.minor_faults as f64),
    ("major faults", "Page faults that read from a disk", |it| it.major_faults as f64),
    ("waited", "A thread waited and another ran", |it| it.voluntary_switches as f64),
    ("made to wait", "A thread was made to wait", |it| it.involuntary_switches as f64),
    ("user, ms", "Time of all threads in the program’s own code", |it| it.user_seconds * 1e3),
    ("system, ms", "Time of all threads in the system’s code", |it| it.system_seconds * 1e3),
];

/// Of the whole process, and not only of the timed part.
fn counts(comparison: &Comparison) -> Markup {
    let label = format!("Counts of {}", comparison.kernel.name);
    html! {
        details {
            summary { "Page faults, switches and processor time" }
            div.scroll tabindex="0" role="region" aria-label=(label) {
                table.plain {
                    caption { "Medians of the rounds, of the whole process." }
                    thead {
                        tr {
                            th scope="col" { "allocator" }
                            @for (name, sentence, _) in COUNTS {
                                th.figure scope="col" title=(sentence) { (name) }
                            }
                        }
                    }
                    tbody {
                        @for standing in &comparison.standings {
                            tr.(Look::of(standing.peer).class()) {
                                th scope="row" { span.name { (standing.peer.name) } }
                                @for (_, _, figure) in COUNTS {
                                    td.figure { (grouped(standing.row.median(figure))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::id;

    #[test]
    fn an_id_has_plain_letters_only() {
        assert_eq!(id("mixed-8k"), "kernel-mixed-8k");
        assert_eq!(id("a \"b\" <ü>"), "kernel-a--b-----");
    }
}
