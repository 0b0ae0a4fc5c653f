//! What a run found, as it is written to and read from a file of JSON.

mod read;

use serde::{Deserialize, Serialize};

/// The form of the file. A change of a field's meaning is another form.
pub(crate) const SCHEMA: u32 = 1;

/// All of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Results {
    /// [`SCHEMA`].
    pub(crate) schema: u32,
    /// Files that do not tell are older than kinds.
    #[serde(default)]
    pub(crate) kind: Kind,
    /// Processor, cores and kernel.
    pub(crate) machine: String,
    /// Version of rustc.
    pub(crate) compiler: String,
    /// The commit of the tree, with `-dirty` behind it where files were changed.
    pub(crate) commit: String,
    /// The arguments of `hak-bench` that take it anew, wherever it is written.
    pub(crate) command: String,
    /// Files that do not tell are older than libraries.
    #[serde(default)]
    pub(crate) reached: Reached,
    /// How often each kernel ran on each peer.
    pub(crate) rounds: usize,
    /// How often it should have, where the run was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rounds_asked: Option<usize>,
    /// Each allocator, in the order of the tables.
    pub(crate) peers: Vec<Peer>,
    /// Each kernel, in the order of the tables.
    pub(crate) kernels: Vec<Kernel>,
}

/// What figures a file has. Counts are another kind, with a form of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Those of a [`Sample`], of `run` and of `preload`.
    #[default]
    Times,
}

impl Results {
    /// How many rounds there are, and of how many.
    pub(crate) fn rounds_told(&self) -> String {
        let rounds = |count| format!("{count} round{}", if count == 1 { "" } else { "s" });
        match self.rounds_asked {
            Some(asked) => format!("interrupted after {} of {}", self.rounds, rounds(asked)),
            None => rounds(self.rounds),
        }
    }

    /// The peer that ran twice; more than one only in files that were put together.
    pub(crate) fn control(&self) -> String {
        let mut names: Vec<_> = self.kernels.iter().map(|it| it.control.of.as_str()).collect();
        names.dedup();
        names.join(", ")
    }

    /// Whether any run of any peer came to an end.
    pub(crate) fn any(&self) -> bool {
        self.kernels.iter().flat_map(|kernel| &kernel.rows).any(|row| !row.samples.is_empty())
    }
}

/// How the allocators come into what is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reached {
    /// Each is built into a program of its own.
    #[default]
    Linked,
    /// Each is a library, and the programs are the same.
    Preloaded,
}

/// An allocator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// Of the crate, or of the C library.
    pub(crate) version: String,
    /// One sentence.
    pub(crate) about: String,
    pub(crate) kind: PeerKind,
    /// Bytes of `.text` of its program, which has all kernels of the run, or of its library.
    pub(crate) text_bytes: u64,
}

/// What a peer is in the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PeerKind {
    /// The C library's.
    System,
    /// Somebody else's.
    Other,
    /// Generated from a spec.
    Hak,
}

/// A kernel and what each peer took for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    /// `pattern`, `threads` or `program`.
    pub(crate) group: String,
    /// What it does, with its sizes, in one sentence.
    pub(crate) about: String,
    /// What one operation is.
    pub(crate) operation: String,
    /// The hak peer whose spec is meant for this kernel.
    pub(crate) own: String,
    /// In the order of [`Results::peers`].
    pub(crate) rows: Vec<Row>,
    /// One peer once more under another name: how far two names of the same thing are apart.
    pub(crate) control: Control,
}

/// The peer that ran twice in each round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Control {
    /// Its name in [`Results::peers`].
    pub(crate) of: String,
    /// A sample for each round, as in the row of [`of`](Self::of).
    pub(crate) samples: Vec<Sample>,
}

/// What one peer took for one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) peer: String,
    /// One for each round, or none where it failed.
    pub(crate) samples: Vec<Sample>,
    /// Why there are no samples.
    pub(crate) failure: Option<String>,
    /// From a run of its own, which is not timed.
    pub(crate) resident: Vec<Resident>,
}

/// One run of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Of the timed part, for each operation.
    pub(crate) nanoseconds: f64,
    /// Most bytes that were resident at a time.
    pub(crate) peak_resident_bytes: u64,
    /// Page faults that needed no disk.
    pub(crate) minor_faults: u64,
    /// Page faults that read from a disk.
    pub(crate) major_faults: u64,
    /// A thread waited and another ran.
    pub(crate) voluntary_switches: u64,
    /// A thread was made to wait.
    pub(crate) involuntary_switches: u64,
    /// Time of all threads in the program's own code.
    pub(crate) user_seconds: f64,
    /// Time of all threads in the system's code.
    pub(crate) system_seconds: f64,
}

/// Bytes that were resident at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Resident {
    /// Since the process began.
    pub(crate) milliseconds: u64,
    pub(crate) bytes: u64,
}
