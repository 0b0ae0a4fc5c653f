//! The names of the C interface, for the crate that becomes the library.

/// Exports the functions of the C interface and the operators of C++, on a type that implements
/// [`Library`](crate::c::Library) and has `malloc_or` and `free`, the hit paths.
///
/// The functions of `<stdlib.h>` and `<malloc.h>` do what their manual pages say; what those leave
/// open is in `docs/c-programs.md`.
#[doc(hidden)]
#[macro_export]
macro_rules! export_c {
    ($library:ty) => {
        const _: () = {
            use ::core::ffi::{c_int, c_void};
            use $crate::c as runtime;

            type L = $library;

            $crate::export_functions! {
                fn malloc(bytes: usize) -> *mut c_void {
                    L::malloc_or(bytes, runtime::malloc_elsewhere::<L>).cast()
                }
                fn __libc_malloc(bytes: usize) -> *mut c_void {
                    L::malloc_or(bytes, runtime::malloc_elsewhere::<L>).cast()
                }
                fn calloc(count: usize, bytes: usize) -> *mut c_void {
                    runtime::calloc::<L>(count, bytes).cast()
                }
                fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void {
                    runtime::calloc::<L>(count, bytes).cast()
                }
                fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
                    runtime::realloc::<L>(block.cast(), bytes).cast()
                }
                fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
                    runtime::realloc::<L>(block.cast(), bytes).cast()
                }
                fn reallocarray(block: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
                    runtime::reallocarray::<L>(block.cast(), count, bytes).cast()
                }
                fn free(block: *mut c_void) { L::free(block.cast()) }
                fn __libc_free(block: *mut c_void) { L::free(block.cast()) }
                fn cfree(block: *mut c_void) { L::free(block.cast()) }
                fn free_sized(block: *mut c_void, _bytes: usize) { L::free(block.cast()) }
                fn free_aligned_sized(block: *mut c_void, _align: usize, _bytes: usize) {
                    L::free(block.cast())
                }
                fn memalign(align: usize, bytes: usize) -> *mut c_void {
                    runtime::memalign::<L>(align, bytes).cast()
                }
                fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void {
                    runtime::memalign::<L>(align, bytes).cast()
                }
                fn aligned_alloc(align: usize, bytes: usize) -> *mut c_void {
                    runtime::aligned_alloc::<L>(align, bytes).cast()
                }
                fn posix_memalign(place: *mut *mut c_void, align: usize, bytes: usize) -> c_int {
                    runtime::posix_memalign::<L>(place.cast(), align, bytes)
                }
                fn __posix_memalign(place: *mut *mut c_void, align: usize, bytes: usize) -> c_int {
                    runtime::posix_memalign::<L>(place.cast(), align, bytes)
                }
                fn valloc(bytes: usize) -> *mut c_void { runtime::valloc::<L>(bytes).cast() }
                fn __libc_valloc(bytes: usize) -> *mut c_void { runtime::valloc::<L>(bytes).cast() }
                fn pvalloc(bytes: usize) -> *mut c_void { runtime::pvalloc::<L>(bytes).cast() }
                fn __libc_pvalloc(bytes: usize) -> *mut c_void {
                    runtime::pvalloc::<L>(bytes).cast()
                }
                fn malloc_usable_size(block: *mut c_void) -> usize {
                    runtime::malloc_usable_size::<L>(block.cast())
                }
                fn malloc_trim(pad: usize) -> c_int { runtime::malloc_trim::<L>(pad) }
                fn mallopt(key: c_int, value: c_int) -> c_int { runtime::mallopt::<L>(key, value) }
                fn mallinfo() -> runtime::MallInfo { runtime::mallinfo::<L>() }
                fn mallinfo2() -> runtime::MallInfo2 { runtime::mallinfo2::<L>() }
                fn malloc_stats() { runtime::malloc_stats::<L>() }
            }
            $crate::export_operators!();
        };
    };
}

/// Functions with C's way of calling, under their own names.
#[doc(hidden)]
#[macro_export]
macro_rules! export_functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                #[allow(unused_unsafe)]
                // SAFETY: the caller keeps to what C says of the function of this name.
                unsafe { $body }
            }
        )*
    };
}

/// The same for operators of C++ that are made of others, which the program may have replaced.
#[doc(hidden)]
#[macro_export]
macro_rules! export_derived {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
        $crate::export_functions! {
            $(
                fn $name($($argument: $type),*) $(-> $result)? {
                    static DERIVED: runtime::Derived =
                        runtime::Derived::new(concat!(stringify!($name), "\0"));

                    // A call by its own: the hit path is to save no registers for it. What the
                    // other throws passes no frame of ours, since each call is the last thing
                    // that is done.
                    #[cold]
                    #[inline(never)]
                    unsafe extern "C" fn elsewhere($($argument: $type),*) $(-> $result)? {
                        match DERIVED.of_others() {
                            Some(other) => {
                                // SAFETY: an operator of this name has this type.
                                let other: unsafe extern "C" fn($($type),*) $(-> $result)? =
                                    unsafe { ::core::mem::transmute(other) };
                                // SAFETY: by this function's contract, which is the operator's.
                                unsafe { other($($argument),*) }
                            }
                            // From here on this one does it.
                            // SAFETY: as above.
                            None => unsafe { $name($($argument),*) },
                        }
                    }

                    if runtime::may_be_replaced() {
                        return elsewhere($($argument),*);
                    }
                    $body
                }
            )*
        }
    };
}

/// The operators of C++, by their mangled names: `w` is one object, `a` an array, `m` a size,
/// `St11align_val_t` an alignment, `RKSt9nothrow_t` one that does not throw.
#[doc(hidden)]
#[macro_export]
macro_rules! export_operators {
    () => {
        $crate::export_functions! {
            fn _Znwm(bytes: usize) -> *mut c_void {
                L::malloc_or(bytes, runtime::new_elsewhere::<L>).cast()
            }
            fn _ZnwmSt11align_val_t(bytes: usize, align: usize) -> *mut c_void {
                runtime::new_aligned::<L>(bytes, align).cast()
            }
            fn _ZdlPv(block: *mut c_void) { L::free(block.cast()) }
            fn _ZdlPvSt11align_val_t(block: *mut c_void, _align: usize) { L::free(block.cast()) }
        }
        $crate::export_derived! {
            fn _Znam(bytes: usize) -> *mut c_void {
                L::malloc_or(bytes, runtime::new_elsewhere::<L>).cast()
            }
            fn _ZnamSt11align_val_t(bytes: usize, align: usize) -> *mut c_void {
                runtime::new_aligned::<L>(bytes, align).cast()
            }
            fn _ZnwmRKSt9nothrow_t(bytes: usize, nothrow: *const c_void) -> *mut c_void {
                runtime::new_or_null::<L>(bytes, nothrow).cast()
            }
            fn _ZnamRKSt9nothrow_t(bytes: usize, nothrow: *const c_void) -> *mut c_void {
                runtime::new_or_null::<L>(bytes, nothrow).cast()
            }
            fn _ZnwmSt11align_val_tRKSt9nothrow_t(
                bytes: usize,
                align: usize,
                nothrow: *const c_void
            ) -> *mut c_void {
                runtime::new_aligned_or_null::<L>(bytes, align, nothrow).cast()
            }
            fn _ZnamSt11align_val_tRKSt9nothrow_t(
                bytes: usize,
                align: usize,
                nothrow: *const c_void
            ) -> *mut c_void {
                runtime::new_aligned_or_null::<L>(bytes, align, nothrow).cast()
            }
            fn _ZdaPv(block: *mut c_void) { L::free(block.cast()) }
            fn _ZdlPvm(block: *mut c_void, _bytes: usize) { L::free(block.cast()) }
            fn _ZdaPvm(block: *mut c_void, _bytes: usize) { L::free(block.cast()) }
            fn _ZdlPvRKSt9nothrow_t(block: *mut c_void, _nothrow: *const c_void) {
                L::free(block.cast())
            }
            fn _ZdaPvRKSt9nothrow_t(block: *mut c_void, _nothrow: *const c_void) {
                L::free(block.cast())
            }
            fn _ZdaPvSt11align_val_t(block: *mut c_void, _align: usize) { L::free(block.cast()) }
            fn _ZdlPvmSt11align_val_t(block: *mut c_void, _bytes: usize, _align: usize) {
                L::free(block.cast())
            }
            fn _ZdaPvmSt11align_val_t(block: *mut c_void, _bytes: usize, _align: usize) {
                L::free(block.cast())
            }
            fn _ZdlPvSt11align_val_tRKSt9nothrow_t(
                block: *mut c_void,
                _align: usize,
                _nothrow: *const c_void
            ) {
                L::free(block.cast())
            }
            fn _ZdaPvSt11align_val_tRKSt9nothrow_t(
                block: *mut c_void,
                _align: usize,
                _nothrow: *const c_void
            ) {
                L::free(block.cast())
            }
        }
    };
}
