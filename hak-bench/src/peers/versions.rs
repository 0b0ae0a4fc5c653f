//! Which versions of the peers are compared.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::fs;
use std::path::PathBuf;

use cargo_metadata::{CargoOpt, MetadataCommand};
use serde::Deserialize;

use super::{Bundled, PEERS, Peer, Told};
use crate::failure::Failure;
use crate::results::PeerKind;
use crate::subjects::{PACKAGE, metadata, root};

/// The versions of all packages that cargo has locked.
#[derive(Debug)]
pub(crate) struct Versions {
    packages: BTreeMap<String, String>,
}

/// What is read of a Cargo.lock.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// Ours.
const HAK: &str = "hak";

impl Versions {
    /// Of the workspace's Cargo.lock.
    pub(crate) fn read() -> Result<Versions, Failure> {
        let path = root().join("Cargo.lock");
        let lock = fs::read_to_string(&path)
            .map_err(|error| Failure::could_not(format!("read {}", path.display()), error))?;
        versions(&lock).map_err(|message| {
            let help = "`cargo build` writes it anew once it is deleted";
            Failure::Failed(format!("{}: {message}\nhelp: {help}", path.display()))
        })
    }

    /// As it is shown: the library's version where it is known, and the crate's.
    pub(crate) fn of(&self, peer: &Peer) -> String {
        let crates =
            |package: &str| format!("{package} {}", without_metadata(self.package(package)));
        match (peer.kind(), peer.package) {
            (PeerKind::Other, Some(package)) => {
                let bundled = peer.bundled.and_then(|bundled| self.bundled(peer, bundled));
                let library = bundled.map(|(name, version)| format!("{name} {version}, "));
                format!("{}crate {}", library.unwrap_or_default(), crates(package))
            }
            (PeerKind::Hak, _) => crates(HAK),
            _ => format!("glibc {}", glibc()),
        }
    }

    /// Those of the peers' packages are all there: that was tested when they were read.
    fn package(&self, name: &str) -> &str {
        self.packages.get(name).map_or("", |version| version)
    }

    /// Nothing where the crate does not tell it in the way that is known here: it may be newer.
    fn bundled(&self, peer: &Peer, bundled: Bundled) -> Option<(&'static str, String)> {
        let version = match bundled.told {
            Told::Metadata => {
                let (_, metadata) = self.package(bundled.package).split_once('+')?;
                described(metadata).to_owned()
            }
            Told::Header { file, name } => {
                let path = folder(bundled.package, peer.name)?.join(file);
                defined(&fs::read_to_string(path).ok()?, name)?
            }
        };
        Some((bundled.name, version))
    }
}

/// From the text of a Cargo.lock. An error says what is wrong with it, without its path.
fn versions(lock: &str) -> Result<Versions, String> {
    let lock: Lock = toml::from_str(lock).map_err(|error| error.to_string())?;
    let bundled = PEERS.iter().filter_map(|peer| Some(peer.bundled?.package));
    let names = PEERS.iter().filter_map(|peer| peer.package).chain(bundled).chain([HAK]);
    let mut packages = BTreeMap::new();
    for name in names {
        let mut found = lock.package.iter().filter(|package| package.name == name);
        let version = match (found.next(), found.next()) {
            (Some(package), None) => &package.version,
            (None, _) => return Err(format!("there is no package `{name}`")),
            (Some(one), Some(other)) => {
                let (one, other) = (&one.version, &other.version);
                return Err(format!("package `{name}` is there as {one} and as {other}"));
            }
        };
        packages.insert(name.to_owned(), version.clone());
    }
    Ok(Versions { packages })
}

/// Of the C library that runs this program, and the subjects.
fn glibc() -> String {
    // SAFETY: it takes nothing, and may be called at any time.
    let version = unsafe { libc::gnu_get_libc_version() };
    // SAFETY: a string that ends with a zero and is never changed or freed.
    let version = unsafe { CStr::from_ptr(version) };
    version.to_string_lossy().into_owned()
}

/// What cargo compares.
fn without_metadata(version: &str) -> &str {
    version.split('+').next().unwrap_or(version)
}

/// A version as `git describe --long` tells it, or a commit. No commits since a version are not
/// worth telling.
fn described(metadata: &str) -> &str {
    metadata.split_once("-0-g").map_or(metadata, |(version, _)| version)
}

/// The folder of a package's sources, which cargo has once the peer is built.
fn folder(package: &str, feature: &str) -> Option<PathBuf> {
    let mut asked = MetadataCommand::new();
    asked
        .features(CargoOpt::SomeFeatures(vec![format!("{PACKAGE}/{feature}")]))
        .other_options(["--locked", "--filter-platform", "host-tuple"].map(str::to_owned));
    let metadata = metadata(&mut asked).ok()?;
    let package = metadata.packages.iter().find(|found| *found.name == package)?;
    package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned())
}

/// The version that a header defines as a number.
fn defined(header: &str, name: &str) -> Option<String> {
    let number = header.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_it = words.next() == Some("#define") && words.next() == Some(name);
        words.next().filter(|_| is_it)
    });
    let number: u32 = number?.parse().ok()?;
    let (major, minor, patch) = (number / 10_000, number / 100 % 100, number % 100);
    (major > 0).then(|| format!("{major}.{minor}.{patch}"))
}

#[cfg(test)]
mod tests {
    use super::{Versions, defined, described, versions};
    use crate::peers::{PEERS, Peer};

    fn peer(name: &str) -> &'static Peer {
        PEERS.iter().find(|peer| peer.name == name).unwrap()
    }

    /// A Cargo.lock with every package that is asked for, each once, at one version.
    fn lock() -> String {
        let bundled = PEERS.iter().filter_map(|peer| Some(peer.bundled?.package));
        let mut names: Vec<_> = PEERS.iter().filter_map(|peer| peer.package).collect();
        names.extend(bundled);
        names.push("hak");
        names.sort_unstable();
        names.dedup();
        let package =
            |name| format!("[[package]]\nname = \"{name}\"\nversion = \"1.2.3+x-4-gab\"\n");
        names.into_iter().map(package).collect()
    }

    #[test]
    fn every_peer_has_a_version_in_the_workspace() {
        let versions = Versions::read().unwrap();
        for peer in PEERS {
            let version = versions.of(peer);
            assert!(version.ends_with(|last: char| last.is_ascii_digit()), "{version}");
            assert_eq!(version.contains(", crate "), peer.bundled.is_some(), "{version}");
        }
        assert!(versions.of(peer("mimalloc2")).starts_with("mimalloc 2."));
        assert!(versions.of(peer("mimalloc3")).starts_with("mimalloc 3."));
        assert!(versions.of(peer("system")).starts_with("glibc 2."));
    }

    #[test]
    fn a_library_is_shown_with_its_crate() {
        let versions = versions(&lock()).unwrap();
        let jemalloc = "jemalloc x-4-gab, crate tikv-jemallocator 1.2.3";
        assert_eq!(versions.of(peer("jemalloc")), jemalloc);
        assert_eq!(versions.of(peer("snmalloc")), "crate snmalloc-rs 1.2.3");
        assert_eq!(versions.of(peer("hak-web")), "hak 1.2.3");
    }

    #[test]
    fn a_package_that_is_not_there_is_named() {
        let lock = lock().replace("\"smmalloc\"", "\"smalloc\"");
        assert_eq!(versions(&lock).unwrap_err(), "there is no package `smmalloc`");
    }

    #[test]
    fn two_versions_of_a_package_are_told() {
        let lock = lock() + "[[package]]\nname = \"smmalloc\"\nversion = \"8.0.0\"\n";
        let message = "package `smmalloc` is there as 1.2.3+x-4-gab and as 8.0.0";
        assert_eq!(versions(&lock).unwrap_err(), message);
    }

    #[test]
    fn a_lock_that_is_none_is_refused() {
        assert!(versions("package = [").unwrap_err().contains("TOML parse error"));
        assert!(versions("version = 4").unwrap_err().contains("missing field `package`"));
    }

    #[test]
    fn a_library_may_be_at_a_version_behind_one_or_at_a_commit() {
        assert_eq!(described("5.3.1-0-g81034ce1f1"), "5.3.1");
        assert_eq!(described("5.3.1-12-g81034ce1f1"), "5.3.1-12-g81034ce1f1");
        assert_eq!(described("b097fd0"), "b097fd0");
    }

    #[test]
    fn a_header_tells_its_version_or_nothing() {
        let header = "#define MI_OTHER 1\n#define MI_VERSION 30302   // two digits\n";
        assert_eq!(defined(header, "MI_VERSION").as_deref(), Some("3.3.2"));
        assert_eq!(defined("# define\n#define MI_VERSION 21013", "MI_VERSION").unwrap(), "2.10.13");
        assert_eq!(defined("#define MI_VERSION 188", "MI_VERSION"), None);
        assert_eq!(defined("#define MI_VERSION \"3\"", "MI_VERSION"), None);
        assert_eq!(defined("#define MI_VERSIONS 30302", "MI_VERSION"), None);
        assert_eq!(defined("// MI_VERSION 30302", "MI_VERSION"), None);
    }
}
