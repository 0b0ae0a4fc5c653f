//! Which kernels and peers a command line means.

use hak_bench_kernels::Listed;

use crate::children;
use crate::failure::Failure;
use crate::peers::{PEERS, Peer};
use crate::subjects::{self, Kernels};

/// What is to be compared.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) kernels: Vec<Listed>,
    pub(crate) peers: Vec<&'static Peer>,
    /// Which subjects have these kernels.
    pub(crate) subjects: Kernels,
}

/// What a kernel runs on where no spec was written for it.
pub(crate) const USUAL: &str = "hak-general";

impl Choice {
    /// From names; all where none is named. Builds the first peer, which knows the kernels.
    pub(crate) fn of(kernels: &[String], names: &[String]) -> Result<Choice, Failure> {
        let peers = peers(names)?;
        if !kernels.is_empty() {
            let listed = listed(peers[0], Kernels::Patterns)?;
            if let Ok(kernels) = chosen(kernels, &listed) {
                return Ok(Choice { kernels, peers, subjects: Kernels::Patterns });
            }
        }
        let listed = listed(peers[0], Kernels::All)?;
        let kernels = if kernels.is_empty() { listed } else { chosen(kernels, &listed)? };
        Ok(Choice { kernels, peers, subjects: Kernels::All })
    }

    /// The hak peer whose spec is meant for a kernel.
    pub(crate) fn own(&self, kernel: &str) -> &'static str {
        let meant = self.peers.iter().find(|peer| peer.meant_for.contains(&kernel));
        meant.map_or(USUAL, |peer| peer.name)
    }
}

/// Every kernel, as the system's subject lists them.
pub(crate) fn all_kernels() -> Result<Vec<Listed>, Failure> {
    listed(&PEERS[0], Kernels::All)
}

/// In the order of the tables.
pub(crate) fn peers(names: &[String]) -> Result<Vec<&'static Peer>, Failure> {
    for name in names {
        if !PEERS.iter().any(|peer| peer.name == name) {
            return Err(unknown("peer", name, PEERS.iter().map(|peer| peer.name)));
        }
    }
    let asked = |peer: &&Peer| names.is_empty() || names.iter().any(|name| name == peer.name);
    Ok(PEERS.iter().filter(asked).collect())
}

/// Kernels by their names or those of their groups, in the order of the tables.
pub(crate) fn chosen(names: &[String], listed: &[Listed]) -> Result<Vec<Listed>, Failure> {
    let means = |name: &str, kernel: &Listed| name == kernel.name || name == kernel.group.name();
    for name in names {
        if !listed.iter().any(|kernel| means(name, kernel)) {
            return Err(unknown("kernel", name, listed.iter().map(|kernel| &*kernel.name)));
        }
    }
    let asked = |kernel: &&Listed| names.iter().any(|name| means(name, kernel));
    Ok(listed.iter().filter(asked).cloned().collect())
}

pub(crate) fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> Failure {
    let names = names.collect::<Vec<_>>().join(", ");
    Failure::Usage(format!("no {what} is named `{name}`\nhelp: there are {names}"))
}

fn listed(peer: &'static Peer, kernels: Kernels) -> Result<Vec<Listed>, Failure> {
    let subjects = subjects::ready(&[peer], kernels)?;
    let [subject] = subjects.as_slice() else { return Ok(Vec::new()) };
    let output = children::output(&mut subject.command())
        .map_err(|error| Failure::could_not(format!("start {}", subject.path.display()), error))?;
    Listed::parse(&String::from_utf8_lossy(&output.stdout)).map_err(Failure::Failed)
}

#[cfg(test)]
mod tests {
    use hak_bench_kernels::{Group, Listed};

    use super::{chosen, peers};

    fn listed(name: &str, group: Group) -> Listed {
        let text = String::new;
        Listed {
            name: name.to_owned(),
            group,
            operation: text(),
            parameters: Vec::new(),
            about: text(),
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_group_means_all_its_kernels() {
        let kernels = [
            listed("pair", Group::Pattern),
            listed("burst", Group::Pattern),
            listed("swap", Group::Threads),
        ];
        let chosen = |asked: &[&str]| {
            let chosen = chosen(&names(asked), &kernels).unwrap();
            chosen.into_iter().map(|kernel| kernel.name).collect::<Vec<_>>()
        };
        assert_eq!(chosen(&["pattern"]), ["pair", "burst"]);
        assert_eq!(chosen(&["swap", "pair"]), ["pair", "swap"]);
    }

    #[test]
    fn a_name_that_is_not_there_brings_those_that_are() {
        let kernels = [listed("pair", Group::Pattern), listed("burst", Group::Pattern)];
        let message = chosen(&names(&["pear"]), &kernels).unwrap_err().to_string();
        assert_eq!(message, "no kernel is named `pear`\nhelp: there are pair, burst");
        let message = peers(&names(&["sistem"])).unwrap_err().to_string();
        assert!(message.starts_with("no peer is named `sistem`\nhelp: there are system, "));
    }

    #[test]
    fn no_name_means_all_peers() {
        assert_eq!(peers(&[]).unwrap().len(), super::PEERS.len());
        assert_eq!(peers(&names(&["system"])).unwrap()[0].name, "system");
    }
}
