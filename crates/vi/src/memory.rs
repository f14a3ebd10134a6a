//! Memory that two processes share: mapped, and read and written a word at a time.
//!
//! Another process may change it at any moment, so no reference to its bytes is given out. Words
//! are atomics. Bytes are copied by relaxed loads and stores of the aligned words that hold them,
//! which is defined behaviour whatever the other process does. A copy is one pass, so the checked
//! bytes are the used bytes.
//!
//! **A mapping cannot be truncated.** Reading behind the end of a file that another process has
//! shortened is a `SIGBUS`, which would end the adapter for every program. Only a memfd sealed
//! against shrinking is therefore mapped. It must have ordinary pages: huge pages may be exhausted
//! when a hole in the file is touched.

#![allow(
    unsafe_code,
    reason = "memory that is shared between processes is mapped and accessed through pointers"
)]

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use nix::sys::stat::fstat;
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::unistd::ftruncate;

/// Page size in bytes, or a divisor of it.
pub(crate) const PAGE: usize = 4096;

/// Mapping of shared memory.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    length: NonZeroUsize,
}

// SAFETY: the mapping lives until it is dropped, on any thread, and all access is by atomics.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Creates memory of `length` bytes rounded up to whole pages of zeros, and the file that
    /// another process maps it from. The file can neither shrink nor grow.
    pub fn create(name: &str, length: usize) -> io::Result<(Self, OwnedFd)> {
        let length = whole_pages(length)?;
        let file = memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
        ftruncate(&file, length.get() as i64)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Ok((Self::map_checked(&file, length, MapFlags::MAP_POPULATE)?, file))
    }

    /// Maps the first `length` bytes of `file`, which another process made; refused if they could
    /// be removed.
    ///
    /// Pages are allocated on first use.
    pub fn map(file: &OwnedFd, length: usize) -> io::Result<Self> {
        let length = whole_pages(length)?;
        let refused = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        if fstatfs(file)?.filesystem_type() != TMPFS_MAGIC {
            return refused("it is no memfd of ordinary pages");
        }
        // A file that cannot be sealed returns an error.
        let seals = fcntl(file, FcntlArg::F_GET_SEALS)?;
        if seals & SealFlag::F_SEAL_SHRINK.bits() == 0 {
            return refused("it is not sealed against shrinking");
        }
        // The order matters: a sealed file keeps its length.
        if u64::try_from(fstat(file)?.st_size).unwrap_or(0) < length.get() as u64 {
            return refused("it is shorter than was said");
        }
        Self::map_checked(file, length, MapFlags::empty())
    }

    /// Private memory of `length` bytes of zeros, which replaces shared memory; pages are allocated
    /// on first write.
    pub fn private(length: usize) -> io::Result<Self> {
        let length = whole_pages(length)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice affects no other.
        let base = unsafe { mmap_anonymous(None, length, access, flags)? };
        Ok(Self { base: base.cast(), length })
    }

    fn map_checked(file: &OwnedFd, length: NonZeroUsize, populate: MapFlags) -> io::Result<Self> {
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice affects no other.
        let base = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED | populate, file.as_fd(), 0)? };
        Ok(Self { base: base.cast(), length })
    }

    /// Length in bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.length.get()
    }

    pub(crate) fn base(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Whether `length` bytes from `offset` on are inside.
    #[inline]
    pub fn contains(&self, offset: u64, length: u64) -> bool {
        offset.checked_add(length).is_some_and(|end| end <= self.bytes() as u64)
    }

    #[inline]
    fn at(&self, offset: usize, length: usize) -> *mut u8 {
        assert!(
            self.contains(offset as u64, length as u64),
            "{offset} and {length} are outside of the mapping"
        );
        // SAFETY: as asserted, the address is within the mapping or at its end.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// 32-bit word at `offset`. Panics if it is not aligned or outside.
    #[inline]
    pub fn word32(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4));
        // SAFETY: within the mapping, which lives as long as `self`; pages are aligned, and so is
        // the offset.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    /// 64-bit word at `offset`. Panics if it is not aligned or outside.
    #[inline]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as in `word32`.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// `N` 64-bit words from `offset` on. Panics if they are not aligned or not all inside.
    #[inline]
    pub fn words<const N: usize>(&self, offset: usize) -> &[AtomicU64; N] {
        assert!(offset.is_multiple_of(8));
        // SAFETY: as in `word32`; an array of atomics has the layout of an array of words.
        unsafe { &*self.at(offset, 8 * N).cast() }
    }

    /// `count` 64-bit words from `offset` on, which is aligned if there are any.
    fn many(&self, offset: usize, count: usize) -> &[AtomicU64] {
        if count == 0 {
            return &[];
        }
        assert!(offset.is_multiple_of(8));
        // SAFETY: as in `words`, for `count` words inside.
        unsafe { std::slice::from_raw_parts(self.at(offset, 8 * count).cast(), count) }
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: as in `word32`.
        unsafe { AtomicU8::from_ptr(self.at(offset, 1)) }
    }

    /// Copies the bytes at `offset` into `to`. Panics if they are not all inside.
    pub fn read(&self, offset: usize, to: &mut [u8]) {
        let _inside = self.at(offset, to.len());
        let lead = lead(offset, to.len());
        let (head, rest) = to.split_at_mut(lead);
        for (i, byte) in head.iter_mut().enumerate() {
            *byte = self.byte(offset + i).load(Ordering::Relaxed);
        }
        let (words, tail) = rest.as_chunks_mut::<8>();
        let (from, at) = (self.many(offset + lead, words.len()), offset + lead + 8 * words.len());
        for (word, from) in words.iter_mut().zip(from) {
            *word = from.load(Ordering::Relaxed).to_ne_bytes();
        }
        for (i, byte) in tail.iter_mut().enumerate() {
            *byte = self.byte(at + i).load(Ordering::Relaxed);
        }
    }

    /// Copies `from` to `offset`. Panics if it does not fit.
    pub fn write(&self, offset: usize, from: &[u8]) {
        let _inside = self.at(offset, from.len());
        let (head, rest) = from.split_at(lead(offset, from.len()));
        for (i, byte) in head.iter().enumerate() {
            self.byte(offset + i).store(*byte, Ordering::Relaxed);
        }
        let (words, tail) = rest.as_chunks::<8>();
        let (to, at) = (self.many(offset + head.len(), words.len()), offset + head.len() + 8 * words.len());
        for (word, to) in words.iter().zip(to) {
            to.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        for (i, byte) in tail.iter().enumerate() {
            self.byte(at + i).store(*byte, Ordering::Relaxed);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and every reference into it has ended.
        let _ = unsafe { munmap(self.base.cast(), self.length.get()) };
    }
}

/// Replaces the pages from `address` on by shared pages with the same contents, and returns the
/// file that others map.
///
/// # Safety
/// `address` is the start of a page; the pages up to `address + length` may be read and written,
/// and no thread writes to them meanwhile.
pub(crate) unsafe fn share_in_place(address: *mut u8, length: usize) -> io::Result<OwnedFd> {
    let (memory, file) = Memory::create("laxity-vi", length)?;
    // SAFETY: the caller's contract, for whole pages.
    memory.write(0, unsafe { std::slice::from_raw_parts(address, memory.bytes()) });
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let place = NonZeroUsize::new(address.addr());
    // SAFETY: the pages are the caller's, and have the same bytes afterwards.
    unsafe {
        mmap(place, memory.length, access, MapFlags::MAP_SHARED | MapFlags::MAP_FIXED, file.as_fd(), 0)?
    };
    Ok(file)
}

/// Bytes before the first aligned word, of `length` from `offset` on.
fn lead(offset: usize, length: usize) -> usize {
    (offset.next_multiple_of(8) - offset).min(length)
}

fn whole_pages(length: usize) -> io::Result<NonZeroUsize> {
    let pages = length.checked_next_multiple_of(PAGE).filter(|length| *length <= isize::MAX as usize);
    let pages = pages.and_then(NonZeroUsize::new);
    pages.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "there is no memory of that length"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_and_nothing_else_changes(offset in 0..200_usize, from in prop::collection::vec(any::<u8>(), 0..200)) {
            let (memory, file) = Memory::create("test", 1).unwrap();
            let seen = Memory::map(&file, 1).unwrap();
            memory.write(0, &[0xA5; 512]);
            memory.write(offset, &from);
            let mut all = vec![0; 512];
            seen.read(0, &mut all);
            let mut expected = vec![0xA5; 512];
            expected[offset..offset + from.len()].copy_from_slice(&from);
            prop_assert_eq!(all, expected);
            let mut part = vec![0; from.len()];
            seen.read(offset, &mut part);
            prop_assert_eq!(part, from);
        }
    }

    #[test]
    fn memory_that_could_be_taken_away_is_not_mapped() {
        let open = |flags| memfd_create("test", flags).unwrap();
        let why = |file: &OwnedFd, length| Memory::map(file, length).unwrap_err().to_string();
        let unsealed = open(MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING);
        ftruncate(&unsealed, 8192).unwrap();
        assert_eq!(why(&unsealed, 4096), "it is not sealed against shrinking");
        fcntl(&unsealed, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK)).unwrap();
        assert_eq!(Memory::map(&unsealed, 8192).unwrap().bytes(), 8192);
        assert!(ftruncate(&unsealed, 4096).is_err(), "sealed, it cannot be cut off");
        assert_eq!(why(&unsealed, 8193), "it is shorter than was said");
        assert_eq!(why(&unsealed, 0), "there is no memory of that length");
        assert!(Memory::map(&unsealed, usize::MAX).is_err());
        let pipe = nix::unistd::pipe().unwrap().0;
        assert_eq!(why(&pipe, 1), "it is no memfd of ordinary pages");
    }

    /// A sparse file of 1 GiB still has no pages when mapped, and has one after a byte is written.
    #[test]
    fn what_another_process_made_takes_no_pages_before_it_is_used() {
        let file = memfd_create("test", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING).unwrap();
        ftruncate(&file, 1 << 30).unwrap();
        fcntl(&file, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK)).unwrap();
        let memory = Memory::map(&file, 1 << 30).unwrap();
        assert_eq!(fstat(&file).unwrap().st_blocks, 0);
        memory.write(PAGE, &[1]);
        let taken = fstat(&file).unwrap().st_blocks as usize * 512;
        assert!((PAGE..=2 << 20).contains(&taken), "a page, which may be a huge one: {taken}");
    }

    #[test]
    #[should_panic(expected = "outside of the mapping")]
    fn nothing_is_read_outside() {
        let (memory, _file) = Memory::create("test", 1).unwrap();
        memory.read(PAGE - 4, &mut [0; 5]);
    }
}
