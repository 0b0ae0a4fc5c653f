//! Rules about what the allocator counts about itself.

use crate::problem::{Problems, is_own};
use crate::raw::Raw;
use crate::units::show;

/// `stats.sample_bytes` is not written where nothing is sampled.
pub(crate) fn sample_bytes_are_used(raw: &Raw, problems: &mut Problems) {
    let (Some(bytes), Some(profile)) = (&raw.sample_bytes, &raw.profile) else { return };
    if !profile.value && is_own(bytes.at.as_ref(), profile.depth()) {
        let written = show(bytes.value);
        let message = format!("`stats.sample_bytes` is {written}, but `stats.profile` is `false`");
        let draft = problems.add_pair((bytes.at.as_ref(), profile.at.as_ref()), message);
        draft.help("write `profile = true`, or leave the key out");
    }
}
