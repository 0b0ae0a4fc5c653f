//! hak: a TOML file becomes a memory allocator.

/// Declares an allocator that a spec describes.
#[macro_export]
macro_rules! hak_allocator {
    ($($call:tt)*) => {
        $crate::__private::hak_allocator! { [$crate] $($call)* }
    };
}

pub use hak_runtime::{ClassStats, Stats};

/// For generated code only: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use hak_macros::hak_allocator;
    pub use hak_runtime::*;
}
