//! `[stats]`: what is accepted, and what it means.

use hak_spec::Spec;

fn parse(more: &str) -> Result<Spec, String> {
    let text = format!("schema = 1\nextends = \"general\"\n{more}");
    hak_spec::parse(&text, "test.toml", "Test", None).map_err(|report| report.to_string())
}

#[test]
fn nothing_is_counted_unless_a_spec_asks() {
    let spec = parse("").unwrap();
    assert!(!spec.counters && !spec.profile);
    let spec = parse("stats = { counters = true, profile = true }").unwrap();
    assert!(spec.counters && spec.profile);
    assert_eq!(spec.sample_bytes, 512 << 10);
}

#[test]
fn sample_bytes_are_taken_with_a_profile() {
    for (written, bytes) in [("1", 1), ("\"64 KiB\"", 64 << 10), ("\"1 TiB\"", 1 << 40)] {
        let spec = parse(&format!("stats = {{ profile = true, sample_bytes = {written} }}"));
        assert_eq!(spec.unwrap().sample_bytes, bytes);
    }
    assert!(parse("stats.sample_bytes = 1").unwrap_err().contains("`stats.profile` is `false`"));
    let refused = parse("stats = { profile = true, sample_bytes = 0 }");
    assert!(refused.unwrap_err().contains("sample_bytes"));
}
