//! The specs that come with hak, by name.

/// Name and text of every shipped spec.
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &[
        ("general", include_str!("../specs/general.toml")),
        ("web", include_str!("../specs/web.toml")),
        ("batch", include_str!("../specs/batch.toml")),
        ("parallel", include_str!("../specs/parallel.toml")),
        ("tiny", include_str!("../specs/tiny.toml")),
        ("hardened", include_str!("../specs/hardened.toml")),
    ]
}
