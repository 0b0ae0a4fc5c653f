//! How long a spec of 64 classes takes from its text to tokens.
//!
//! `cargo run -p hak-codegen --example expansion_time` compiles as cargo compiles procedural
//! macros, without optimisation, also for release builds.

use std::time::{Duration, Instant};

use hak_codegen::Target;

const RUNS: usize = 101;

const SPEC: &str = "
schema = 1
extends = \"general\"
classes.ladder = { quantum = 16, linear_to = 1024, steps_per_doubling = 1, max = 1024 }
hints.hot = [64, 32, 48]
";

fn main() {
    let mut times: Vec<Duration> = (0..RUNS).map(|_| once()).collect();
    times.sort_unstable();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let (median, most) = (millis(times[RUNS / 2]), millis(times[RUNS - 1]));
    println!("64 classes: {median:.2} ms (median of {RUNS} runs, at most {most:.2} ms)");
}

fn once() -> Duration {
    let begin = Instant::now();
    let spec = hak_spec::parse(SPEC, "many.toml", "Many", None).expect("the spec is right");
    let tokens = hak_codegen::expand(&spec, &Target::plain("many.toml"));
    let time = begin.elapsed();
    assert!(spec.classes.len() == 64 && !tokens.is_empty());
    time
}
