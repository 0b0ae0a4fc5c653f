//! Where specs are, and that the compiler knows which files it depends on.

use std::env;
use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::quote;

/// Tests that compile crates elsewhere name the folder of their specs in this variable.
const OVERRIDE: &str = "HAK_SPEC_ROOT";

/// The folder that paths of specs start from: that of the calling crate's `Cargo.toml`.
pub(crate) fn base() -> Result<PathBuf, String> {
    env::var_os(OVERRIDE)
        .or_else(|| env::var_os("CARGO_MANIFEST_DIR"))
        .map(PathBuf::from)
        .ok_or_else(|| "`CARGO_MANIFEST_DIR` is not set: build with cargo".to_owned())
}

/// The absolute path of a spec.
pub(crate) fn spec(path: &str) -> Result<PathBuf, String> {
    base().map(|base| base.join(path))
}

/// Adds to an expansion that it depends on files, so that an edit rebuilds the crate.
pub(crate) fn tracked(files: &[impl AsRef<Path>], expansion: TokenStream) -> TokenStream {
    let files = files.iter().filter_map(|file| file.as_ref().to_str());
    quote! {
        #expansion
        #(const _: &[::core::primitive::u8] = ::core::include_bytes!(#files);)*
    }
}
