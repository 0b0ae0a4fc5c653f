//! The allocators that are compared, and their versions.

mod versions;

pub(crate) use versions::Versions;

use crate::results::{self, PeerKind};

/// An allocator, with a program of its own in `hak-bench-peers`.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Of its program, as on the command line and in the tables.
    pub(crate) name: &'static str,
    /// The crate whose version is to be shown. None for the C library's allocator and for ours.
    pub(crate) package: Option<&'static str>,
    /// The library that the crate brings along, where that has a version of its own.
    bundled: Option<Bundled>,
    /// What it is, in one short sentence.
    pub(crate) about: &'static str,
    /// The spec that it is made from, by its path from the repository's root.
    pub(crate) spec: Option<&'static str>,
    /// The kernels that its spec is meant for.
    pub(crate) meant_for: &'static [&'static str],
    /// Variables that its program must find, to run as its documentation wants it.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// Why nothing runs under valgrind, or not what runs without it.
    pub(crate) not_under_valgrind: Option<&'static str>,
}

/// A library of C or C++ inside a crate.
#[derive(Debug, Clone, Copy)]
struct Bundled {
    name: &'static str,
    /// The crate that has its sources.
    package: &'static str,
    told: Told,
}

/// Where a library's version stands.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// In the version of the crate, behind the `+`.
    Metadata,
    /// In a file of the crate, as the number that this name is defined as: two digits each for the
    /// patch and the minor version, the others for the major.
    Header { file: &'static str, name: &'static str },
}

impl Peer {
    pub(crate) fn kind(&self) -> PeerKind {
        match (self.package, self.spec) {
            (_, Some(_)) => PeerKind::Hak,
            (None, None) => PeerKind::System,
            _ => PeerKind::Other,
        }
    }

    /// The cargo feature that its program needs: ours share one, others have that of their name.
    pub(crate) fn feature(&self) -> Option<&'static str> {
        match self.kind() {
            PeerKind::System => None,
            PeerKind::Hak => Some("hak"),
            PeerKind::Other => Some(self.name),
        }
    }

    /// As results tell of it.
    pub(crate) fn told(&self, versions: &Versions, text_bytes: u64) -> results::Peer {
        results::Peer {
            name: self.name.to_owned(),
            version: versions.of(self),
            about: self.about.to_owned(),
            kind: self.kind(),
            text_bytes,
        }
    }
}

/// What most peers have in common.
const PEER: Peer = Peer {
    name: "",
    package: None,
    bundled: None,
    about: "",
    spec: None,
    meant_for: &[],
    environment: &[],
    not_under_valgrind: None,
};

/// What is made from a spec, and no peer.
pub(crate) const fn made_from(name: &'static str, spec: &'static str) -> Peer {
    Peer { name, about: "an allocator made from a spec", spec: Some(spec), ..PEER }
}

/// In the order of the tables.
pub(crate) const PEERS: &[Peer] = &[
    Peer { name: "system", about: "the C library's allocator", ..PEER },
    Peer {
        name: "hak-general",
        about: "hak for any program",
        spec: Some("specs/general.toml"),
        // Its threads exchange nothing, and what they held goes back.
        meant_for: &["idle-after-burst"],
        ..PEER
    },
    Peer {
        name: "hak-web",
        about: "hak for HTTP and JSON services",
        spec: Some("specs/web.toml"),
        meant_for: &["web"],
        ..PEER
    },
    Peer {
        name: "hak-batch",
        about: "hak for compilers, parsers and queries",
        spec: Some("specs/batch.toml"),
        meant_for: &[
            "pair",
            "burst",
            "random-mixed",
            "random-mixed-large",
            "mixed-8k",
            "mixed-32k",
            "list",
            "realloc-growth",
            "aligned",
            "huge",
            "json",
            "regex",
            "markdown",
            "html",
            "sql",
            "query",
            "syn",
            "btree",
            "hashmap",
            "strings",
        ],
        ..PEER
    },
    Peer {
        name: "hak-parallel",
        about: "hak for threads that exchange blocks",
        spec: Some("specs/parallel.toml"),
        meant_for: &[
            "larson",
            "xmalloc",
            "ring",
            "swap",
            "false-sharing-active",
            "false-sharing-passive",
            "churn",
            "tokio",
        ],
        ..PEER
    },
    Peer {
        name: "hak-tiny",
        about: "hak for small tools, which shall take little memory",
        spec: Some("specs/tiny.toml"),
        ..PEER
    },
    Peer {
        name: "hak-hardened",
        about: "hak for programs that read what they cannot trust, with every check",
        spec: Some("specs/hardened.toml"),
        ..PEER
    },
    Peer {
        name: "mimalloc2",
        package: Some("mimalloc"),
        bundled: Some(mimalloc("c_src/mimalloc/v2/include/mimalloc.h")),
        about: "mimalloc 2, in C: a heap for each thread, a free list for each page",
        ..PEER
    },
    Peer {
        name: "mimalloc3",
        package: Some("mimalloc"),
        bundled: Some(mimalloc("c_src/mimalloc/v3/include/mimalloc.h")),
        about: "mimalloc 3, in C: as 2, with more memory shared between threads",
        ..PEER
    },
    Peer {
        name: "jemalloc",
        package: Some("tikv-jemallocator"),
        bundled: Some(Bundled {
            name: "jemalloc",
            package: "tikv-jemalloc-sys",
            told: Told::Metadata,
        }),
        about: "jemalloc, in C: arenas, and caches of each thread",
        ..PEER
    },
    Peer {
        name: "snmalloc",
        package: Some("snmalloc-rs"),
        about: "snmalloc, in C++: what other threads free goes back in messages",
        not_under_valgrind: Some("it reserves 256 GiB of addresses, more than valgrind has"),
        ..PEER
    },
    Peer {
        name: "rpmalloc",
        package: Some("rpmalloc"),
        bundled: Some(Bundled {
            name: "rpmalloc commit",
            package: "rpmalloc-sys",
            told: Told::Metadata,
        }),
        about: "rpmalloc, in C: spans of one size, and caches of spans for each thread",
        ..PEER
    },
    Peer {
        name: "tcmalloc",
        package: Some("tcmalloc-better"),
        about: "TCMalloc, in C++: a cache for each processor",
        // A thread can register one place for restartable sequences, without which there are no
        // caches of processors but older ones of threads. The C library would be first.
        environment: &[("GLIBC_TUNABLES", "glibc.pthread.rseq=0")],
        not_under_valgrind: Some(
            "valgrind has no restartable sequences, so its caches are not those that it has else",
        ),
        ..PEER
    },
    Peer {
        name: "rusty",
        package: Some("rusty_alloc-api"),
        about: "rusty_alloc, in Rust: the design of mimalloc 2",
        ..PEER
    },
    Peer {
        name: "smmalloc",
        package: Some("smmalloc"),
        about: "smalloc, in Rust: 64 TiB of addresses, and free lists without locks",
        not_under_valgrind: Some("it reserves 64 TiB of addresses, more than valgrind has"),
        ..PEER
    },
];

/// Both versions are in one crate.
const fn mimalloc(file: &'static str) -> Bundled {
    let told = Told::Header { file, name: "MI_MALLOC_VERSION" };
    Bundled { name: "mimalloc", package: "libmimalloc-sys", told }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::{Path, PathBuf};

    use serde::Deserialize;

    use super::{PEERS, Told};
    use crate::results::PeerKind;
    use crate::subjects::root;

    /// What the tests look at in a Cargo.toml.
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        features: BTreeMap<String, Vec<String>>,
        #[serde(default)]
        bin: Vec<Program>,
        #[serde(default)]
        profile: BTreeMap<String, Profile>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Program {
        name: String,
        required_features: Vec<String>,
    }

    #[derive(Deserialize)]
    struct Profile {
        #[serde(default)]
        package: BTreeMap<String, Package>,
    }

    #[derive(Deserialize)]
    struct Package {
        debug: Option<bool>,
    }

    fn folder() -> PathBuf {
        root().join("hak-bench/peers")
    }

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn manifest(folder: &Path) -> Manifest {
        toml::from_str(&read(&folder.join("Cargo.toml"))).unwrap()
    }

    #[test]
    fn each_has_a_name_of_its_own_and_says_what_it_is() {
        let names: BTreeSet<_> = PEERS.iter().map(|peer| peer.name).collect();
        assert_eq!(names.len(), PEERS.len());
        assert!(PEERS.iter().all(|peer| !peer.name.is_empty() && !peer.about.is_empty()));
    }

    #[test]
    fn each_is_of_its_kind() {
        let named = |kind: PeerKind| {
            let peers = PEERS.iter().filter(move |peer| peer.kind() == kind);
            peers.map(|peer| peer.name).collect::<Vec<_>>()
        };
        assert_eq!(named(PeerKind::System), ["system"]);
        assert!(named(PeerKind::Hak).iter().all(|name| name.starts_with("hak-")));
    }

    #[test]
    fn each_has_its_program() {
        for peer in PEERS {
            let source = read(&folder().join("src/bin").join(peer.name).with_extension("rs"));
            assert!(source.contains("#[global_allocator]"), "{}", peer.name);
            if let Some(spec) = peer.spec {
                assert!(source.contains(&format!("\"../../{spec}\"")), "{}", peer.name);
                assert!(root().join(spec).is_file(), "{spec}");
            }
        }
    }

    /// Else one would build it without being asked, or could not build it.
    #[test]
    fn each_feature_is_that_of_a_program() {
        let manifest = manifest(&folder());
        let names = PEERS.iter().filter_map(super::Peer::feature);
        let required = manifest.bin.iter().map(|program| {
            let ours = program.name.starts_with("hak-") || program.name.starts_with("plan-");
            let feature = if ours { "hak" } else { &*program.name };
            assert_eq!(program.required_features, [feature]);
            feature
        });
        let mut features: BTreeSet<_> = manifest.features.keys().map(|name| &**name).collect();
        features.remove("programs");
        assert_eq!(features, names.collect());
        assert_eq!(features, required.collect());
    }

    /// Build scripts of bundled libraries take a build with line tables for a debug build.
    #[test]
    fn what_is_bundled_is_built_for_release() {
        let packages = &manifest(root()).profile["release"].package;
        assert_eq!(packages.get("*").and_then(|package| package.debug), Some(false));
        assert_eq!(packages.len(), 1, "no package has settings of its own");
    }

    #[test]
    fn versions_of_one_crate_are_told_apart() {
        let headers = PEERS.iter().filter_map(|peer| match peer.bundled?.told {
            Told::Header { file, .. } => Some(file),
            Told::Metadata => None,
        });
        let all: Vec<_> = headers.collect();
        let different: BTreeSet<_> = all.iter().collect();
        assert_eq!(all.len(), different.len());
    }
}
