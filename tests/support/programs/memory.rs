//! Does little, and says how much memory that took: `memory nothing | line | zeroed`.

use std::env;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;

const GIB: usize = 1 << 30;

fn main() {
    let work = env::args().nth(1);
    match work.as_deref() {
        Some("nothing") => {}
        Some("line") => println!("one line"),
        Some("zeroed") => touch_one_os_page(),
        other => panic!("no work `{other:?}`"),
    }
    // Measured before it is printed: printing allocates.
    let peak = peak_kib();
    println!("{peak}");
}

fn touch_one_os_page() {
    let mut bytes = vec![0u8; black_box(GIB)];
    bytes[GIB / 2] = 1;
    black_box(&bytes);
}

/// The process's largest resident set so far, read without allocating.
fn peak_kib() -> u64 {
    let mut buffer = [0; 4096];
    let mut file = File::open("/proc/self/status").expect("`/proc` is mounted");
    let length = file.read(&mut buffer).expect("it can be read");
    let text = str::from_utf8(&buffer[..length]).expect("it is text");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
}
