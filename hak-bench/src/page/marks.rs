//! How a peer looks: its colour, by a class of the page's style, and its shape.

use maud::{Markup, html};

use crate::results::{Kernel, Peer, PeerKind};

/// What a bar, a line or a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// On each kernel the spec that is meant for it.
    Own,
    Hak,
    System,
    Other,
}

impl Look {
    pub(crate) fn of(peer: &Peer) -> Look {
        match peer.kind {
            PeerKind::Hak => Look::Hak,
            PeerKind::System => Look::System,
            PeerKind::Other => Look::Other,
        }
    }

    /// Of a peer among those that ran a kernel.
    pub(crate) fn on(kernel: &Kernel, peer: &Peer) -> Look {
        match Look::of(peer) {
            Look::Hak if peer.name == kernel.own => Look::Own,
            look => look,
        }
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Look::Own => "hak own",
            Look::Hak => "hak",
            Look::System => "system",
            Look::Other => "other",
        }
    }

    /// hak's marks have corners to the sides, the system's is square, others are round.
    pub(crate) fn shape(self, (x, y): (f64, f64)) -> Markup {
        match self {
            Look::Own => diamond(x, y, 9.0),
            Look::Hak => diamond(x, y, 6.5),
            Look::System => {
                html! { rect.shape x=(tenth(x - 5.0)) y=(tenth(y - 5.0)) width="10" height="10" {} }
            }
            Look::Other => html! { circle.shape cx=(tenth(x)) cy=(tenth(y)) r="5" {} },
        }
    }
}

/// A letter's width in a picture, in the widest of usual fonts.
pub(crate) const LETTER: f64 = 7.2;
/// … and in bold type.
pub(crate) const LETTER_BOLD: f64 = 8.2;

fn diamond(x: f64, y: f64, reach: f64) -> Markup {
    let (x, y) = (tenth(x), tenth(y));
    let path = format!("M{x} {y}m0 -{reach}l{reach} {reach}l-{reach} {reach}l-{reach} -{reach}z");
    html! { path.shape d=(path) {} }
}

/// A length to a tenth of a pixel.
pub(crate) fn tenth(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}

/// A name that has room in a picture.
pub(crate) fn shortened(name: &str, letters_max: usize) -> String {
    if name.chars().count() <= letters_max {
        return name.to_owned();
    }
    name.chars().take(letters_max - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn a_long_name_ends_in_dots() {
        assert_eq!(shortened("größer", 6), "größer");
        assert_eq!(shortened("größere", 6), "größe…");
    }
}
