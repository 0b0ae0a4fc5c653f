//! Results that nobody measured, for the tests of the page and for a look at it.

use fastrand::Rng;

use crate::results::{
    Control, Kernel, Kind, Peer, PeerKind, Reached, Resident, Results, Row, SCHEMA, Sample,
};

/// Of one peer: its name, what it is, how fast and how lean it is, and KiB of `.text`.
type Shape = (&'static str, PeerKind, f64, f64, u64);

const PEERS: [Shape; 15] = [
    ("system", PeerKind::System, 1.55, 1.00, 1_240),
    ("mimalloc2", PeerKind::Other, 0.80, 1.16, 1_310),
    ("mimalloc3", PeerKind::Other, 0.82, 1.12, 1_322),
    ("jemalloc", PeerKind::Other, 1.02, 1.22, 1_690),
    ("snmalloc", PeerKind::Other, 0.78, 1.30, 1_290),
    ("rpmalloc", PeerKind::Other, 0.88, 1.62, 1_268),
    ("tcmalloc", PeerKind::Other, 0.85, 1.48, 1_880),
    ("rusty", PeerKind::Other, 1.20, 1.25, 1_299),
    ("smmalloc", PeerKind::Other, 1.36, 2.60, 1_255),
    ("an-allocator-with-a-name-of-48-letters-as-nobody-s", PeerKind::Other, 2.90, 1.05, 1_251),
    ("dlmalloc", PeerKind::Other, 1.90, 1.02, 1_249),
    ("hak-general", PeerKind::Hak, 0.74, 1.14, 1_262),
    ("hak-web", PeerKind::Hak, 0.71, 1.20, 1_263),
    ("hak-tiny", PeerKind::Hak, 1.10, 0.98, 1_246),
    ("hak-hardened", PeerKind::Hak, 2.10, 1.35, 1_281),
];

/// The kernels of a group, in one string.
const GROUPS: [(&str, &str, &str); 3] = [
    (
        "pattern",
        "alloc and free",
        "pair burst random-mixed random-mixed-large mixed-8k mixed-32k list realloc-growth aligned \
         huge zeroed strings-short",
    ),
    (
        "threads",
        "block handed over",
        "larson xmalloc ring swap false-sharing-active false-sharing-passive churn \
         idle-after-burst",
    ),
    (
        "program",
        "record read and written again",
        "json regex markdown html sql query syn btree hashmap strings index tokio web script \
         a-program-with-a-name-that-is-much-longer-than-that-of-any-other-kernel compress",
    ),
];

const ROUNDS: usize = 9;

/// 15 peers on 36 kernels. `jemalloc` fails on `ring`, and `mixed-32k` has no control.
pub(crate) fn results() -> Results {
    let mut random = Rng::with_seed(42);
    let mut kernels = Vec::new();
    for (group, operation, names) in GROUPS {
        for name in names.split_whitespace() {
            kernels.push(kernel(&mut random, group, operation, name));
        }
    }
    Results {
        schema: SCHEMA,
        kind: Kind::Times,
        machine: "made up for a test: no machine".to_owned(),
        compiler: "made up: no compiler".to_owned(),
        commit: "0000000-dirty".to_owned(),
        command: "run --rounds 9 --html made-up.html".to_owned(),
        reached: Reached::Linked,
        rounds: ROUNDS,
        rounds_asked: None,
        peers: PEERS.map(peer).to_vec(),
        kernels,
    }
}

fn peer((name, kind, _, _, text_kibibytes): Shape) -> Peer {
    Peer {
        name: name.to_owned(),
        version: if kind == PeerKind::Hak { "0.1.0" } else { "3.14.15" }.to_owned(),
        about: format!("Figures of {name} on this page are made up."),
        kind,
        text_bytes: text_kibibytes * 1024,
    }
}

fn kernel(random: &mut Rng, group: &str, operation: &str, name: &str) -> Kernel {
    let nanoseconds = match group {
        "pattern" => 4.0 + random.f64() * 60.0,
        "threads" => 40.0 + random.f64() * 300.0,
        _ => 10_f64.powf(2.5 + random.f64() * 5.0),
    };
    let mebibytes = 2.0 + random.f64().powi(3) * 180.0;
    // How much of the time is the allocator's: programs differ less than patterns.
    let weight = if group == "program" { 0.25 } else { 1.0 };
    let noise = 0.01 + random.f64() * 0.04;
    let mut row = |shape: &Shape| row(random, shape, nanoseconds, mebibytes, weight, noise);
    let mut rows: Vec<Row> = PEERS.iter().map(&mut row).collect();
    let mut again = row(&PEERS[11]).samples;
    if name == "ring" {
        rows[3].samples.clear();
        rows[3].resident.clear();
        rows[3].failure = Some("ended by signal 11 (SIGSEGV)\nmade up: <no> & nowhere".to_owned());
    }
    if name == "mixed-32k" {
        again.clear();
    }
    Kernel {
        name: name.to_owned(),
        group: group.to_owned(),
        about: format!("Made up for a test: what {name} would do, 256 blocks of 16 to 1040 bytes."),
        operation: operation.to_owned(),
        own: match name {
            "web" | "tokio" | "json" => "hak-web",
            "list" | "btree" => "hak-tiny",
            _ => "hak-general",
        }
        .to_owned(),
        rows,
        control: Control { of: PEERS[11].0.to_owned(), samples: again },
    }
}

fn row(
    random: &mut Rng,
    &(name, kind, speed, lean, _): &Shape,
    nanoseconds: f64,
    mebibytes: f64,
    weight: f64,
    noise: f64,
) -> Row {
    let luck = if kind == PeerKind::Hak { 0.12 } else { 0.35 };
    let own_way = (random.f64() - 0.5) * luck;
    let factor = (1.0 + (speed - 1.0 + own_way) * weight).max(0.2);
    let peak = (1.5 + mebibytes * (lean + (random.f64() - 0.5) * 0.1)) * f64::from(1 << 20);
    let mut sample = || {
        let time = nanoseconds * factor * (1.0 + (random.f64() - 0.5) * 2.0 * noise);
        Sample {
            nanoseconds: time,
            peak_resident_bytes: (peak * (1.0 + random.f64() * 0.01)) as u64,
            minor_faults: (peak / 4096.0) as u64 + random.u64(0..40),
            major_faults: random.u64(0..2),
            voluntary_switches: random.u64(1..60),
            involuntary_switches: random.u64(0..25),
            user_seconds: time * 3e-3,
            system_seconds: random.f64() * 0.05,
        }
    };
    Row {
        peer: name.to_owned(),
        samples: (0..ROUNDS).map(|_| sample()).collect(),
        failure: None,
        resident: resident(random, peak, factor),
    }
}

/// Up to the peak, and down to what the allocator keeps.
fn resident(random: &mut Rng, peak: f64, factor: f64) -> Vec<Resident> {
    let (up, down) = (90.0 * factor.sqrt(), 160.0 * factor.sqrt());
    let kept = [0.12, 0.3, 0.75, 0.97][random.usize(0..4)];
    let at = |milliseconds: u64| {
        let time = milliseconds as f64;
        let part = match time {
            _ if time < up => 0.02 + 0.98 * time / up,
            _ if time < down => 1.0 - (1.0 - kept) * (time - up) / (down - up),
            _ => kept,
        };
        Resident { milliseconds, bytes: (peak * part * (0.995 + random.f64() * 0.005)) as u64 }
    };
    (0..=(25.0 + factor * 15.0) as u64).map(|step| step * 5).map(at).collect()
}
