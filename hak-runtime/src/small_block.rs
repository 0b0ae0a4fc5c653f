//! The small block that an address lies in, for the words about a misuse: no way of a request.

use core::ptr::{self, NonNull};

use crate::class::Class;
use crate::misuse::Block;
use crate::slab::Slab;
use crate::superslab::{self, Superslab, UNIT_BYTES};

/// The block of one of these classes that an address lies in.
///
/// Any address may be asked about: only headers of superslabs are read.
#[cold]
pub(crate) fn at(classes: &[Class], address: NonNull<u8>) -> Option<Block> {
    let superslab = Superslab::of(address);
    if !superslab::all().any(|known| known == superslab) {
        return None;
    }
    // SAFETY: it is a superslab. Heads of units that are not in use may be of an earlier run: what
    // follows holds for any.
    let first = unsafe { Superslab::head(superslab, Superslab::unit_of(address)) };
    // SAFETY: headers are never unmapped, and a slot that never held a slab is zero, which is a
    // slab without an owner. So is one whose slab was retired, whatever its units are now.
    let slab = unsafe { Superslab::meta(superslab, first).cast::<Slab>().as_ref() };
    let class = classes.iter().find(|class| slab.is_owned_by(ptr::from_ref(*class).cast()))?;
    let slab_start = superslab.addr().get() + first as usize * UNIT_BYTES;
    let offset = address.addr().get().checked_sub(slab_start)?;
    if offset >= class.size.units as usize * UNIT_BYTES {
        return None;
    }
    let (index, bytes) = (class.size.index_at(offset), class.size.bytes as usize);
    // SAFETY: that many bytes before the address, its block starts.
    let start = unsafe { address.sub(offset - index as usize * bytes) };
    (index < class.size.blocks).then_some(Block { start, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use crate::class::classes;
    use crate::os::fake::ALONE;
    use crate::size_class::SizeClass;
    use crate::span;

    /// Where the slab of its first block ends, in the superslab.
    fn slab_end(block: NonNull<u8>, class: &Class) -> usize {
        let first = Superslab::unit_of(block) as usize;
        (first + class.size.units as usize) * UNIT_BYTES
    }

    #[test]
    fn an_address_is_found_in_its_block_and_nowhere_else() {
        let _alone = ALONE.lock();
        let account = Account::for_test();
        let sizes = [
            SizeClass::new([48, 1, 1, 1, 0], [1, 1365]),
            SizeClass::new([20_480, 1, 1, 1, 0], [3, 9]),
        ];
        let classes: &'static [Class] = Box::leak(Box::new(classes(account, sizes)));
        for class in classes {
            let block = NonNull::new(class.take_one()).unwrap();
            let bytes = class.size.bytes as usize;
            for behind in [0, 1, bytes / 2, bytes - 1] {
                // SAFETY: the block has that many bytes.
                let found = at(classes, unsafe { block.add(behind) });
                assert_eq!(found, Some(Block { start: block, bytes }));
            }
            assert_eq!(at(&[], block), None, "it is of another heap");
            // SAFETY: a slab ends within its superslab.
            let tail = unsafe { Superslab::of(block).cast::<u8>().add(slab_end(block, class) - 1) };
            assert_eq!(at(classes, tail), None, "no block covers the slab's end");
            // SAFETY: taken above.
            unsafe { class.give_back(&[block.as_ptr()]) };
            class.trim();
            assert_eq!(at(classes, block), None, "its slab is gone");
        }
        let (span, _) = span::alloc(1, account).unwrap();
        assert_eq!(at(classes, span), None);
        assert_eq!(at(classes, NonNull::from(&account).cast()), None);
        assert_eq!(at(classes, Superslab::of(span).cast()), None, "the header");
        // SAFETY: allocated above.
        unsafe { span::free(span, 1, account) }.unwrap();
    }
}
