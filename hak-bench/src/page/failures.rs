//! What did not run, and why.

use maud::{Markup, html};

use crate::page::kernel;
use crate::results::{Kernel, Row};

/// Nothing where all ran.
pub(crate) fn section(kernels: &[Kernel]) -> Markup {
    let of_kernel =
        |kernel| kernel::missing(kernel).map(move |(row, reason)| (kernel, row, reason));
    let missing: Vec<(&Kernel, &Row, &str)> = kernels.iter().flat_map(of_kernel).collect();
    html! {
        @if !missing.is_empty() {
            section #failures {
                h2 { "What did not run" }
                dl.failures {
                    @for (kernel, row, reason) in missing {
                        dt {
                            b { (row.peer) } " on "
                            a href=(format!("#{}", kernel::id(&kernel.name))) { (kernel.name) }
                        }
                        dd.reason { (reason) }
                    }
                }
            }
        }
    }
}
