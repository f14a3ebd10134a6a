//! Registered memory of a process, and its protection.
//!
//! A segment is valid if its handle is a current one of the process, the memory has the tag of the
//! virtual interface, and all bytes are inside. This is checked when data is moved rather than when
//! a descriptor is posted, so memory that was deregistered in between is not accessed.

use laxity_vi::provider::Memory;
use laxity_vi::{Segment, Status, ViRefusal};

/// Maximum number of registrations of a process.
pub(super) const MOST: usize = 256;
/// Maximum number of bytes that a process may register.
pub(super) const MOST_BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Region {
    pub(super) memory: Memory,
    /// Address of its first byte, in the program.
    pub(super) base: u64,
    pub(super) length: u64,
    pub(super) tag: u32,
    /// Whether RDMA may write to it.
    pub(super) write: bool,
    /// Whether RDMA may read from it.
    pub(super) read: bool,
}

impl Region {
    /// Offset of the `length` bytes from `address` on, if all are inside.
    fn offset(&self, address: u64, length: u32) -> Option<usize> {
        let offset = address.checked_sub(self.base)?;
        let end = offset.checked_add(u64::from(length))?;
        (end <= self.length).then_some(offset as usize)
    }
}

/// Registrations of a process. A handle is an index with a generation, so that an old handle is
/// never another registration's.
#[derive(Debug, Default)]
pub(super) struct Regions {
    places: Vec<(u32, Option<Region>)>,
    bytes: u64,
}

impl Regions {
    /// Adds `region` and returns its handle; or returns the region.
    pub(super) fn insert(&mut self, region: Region) -> Result<u32, (ViRefusal, Region)> {
        if self.bytes + region.length > MOST_BYTES {
            return Err((ViRefusal::Resource, region));
        }
        let place = match self.places.iter().position(|(_, region)| region.is_none()) {
            Some(place) => place,
            None if self.places.len() < MOST => {
                self.places.push((0, None));
                self.places.len() - 1
            }
            None => return Err((ViRefusal::Resource, region)),
        };
        self.bytes += region.length;
        let (taken, held) = &mut self.places[place];
        *taken = (*taken + 1) % (1 << 24);
        *held = Some(region);
        Ok(place as u32 | *taken << 8)
    }

    pub(super) fn remove(&mut self, handle: u32) -> Option<Region> {
        let (taken, held) = self.places.get_mut((handle & 0xff) as usize)?;
        let region = held.take_if(|_| *taken == handle >> 8)?;
        self.bytes -= region.length;
        Some(region)
    }

    /// Changes the access of the region of this handle; false if there is none.
    pub(super) fn set(&mut self, handle: u32, (tag, write, read): (u32, bool, bool)) -> bool {
        let place = self.places.get_mut((handle & 0xff) as usize).filter(|(taken, _)| *taken == handle >> 8);
        let Some(region) = place.and_then(|(_, held)| held.as_mut()) else { return false };
        (region.tag, region.write, region.read) = (tag, write, read);
        true
    }

    pub(super) fn into_all(self) -> impl Iterator<Item = Region> {
        self.places.into_iter().filter_map(|(_, region)| region)
    }

    pub(super) fn uses(&self, tag: u32) -> bool {
        self.places.iter().any(|(_, region)| region.as_ref().is_some_and(|region| region.tag == tag))
    }

    fn find(&self, tag: u32, segment: &Segment) -> Option<(&Region, usize)> {
        let (taken, held) = self.places.get((segment.handle & 0xff) as usize)?;
        let region = held.as_ref().filter(|region| *taken == segment.handle >> 8 && region.tag == tag)?;
        Some((region, region.offset(segment.address, segment.length)?))
    }

    /// Appends the bytes of `segments` to `to`.
    pub(super) fn gather(&self, tag: u32, segments: &[Segment], to: &mut Vec<u8>) -> Result<(), Status> {
        for segment in segments {
            let (region, offset) = self.find(tag, segment).ok_or(Status::PROTECTION_ERROR)?;
            let begin = to.len();
            to.resize(begin + segment.length as usize, 0);
            region.memory.read(offset, &mut to[begin..]);
        }
        Ok(())
    }

    /// Writes `from` to `segments`, which are large enough; writes no byte unless all of them are
    /// valid.
    pub(super) fn scatter(&self, tag: u32, segments: &[Segment], from: &[u8]) -> Result<(), Status> {
        if let [segment] = segments {
            let (region, offset) = self.find(tag, segment).ok_or(Status::PROTECTION_ERROR)?;
            let (part, rest) = from.split_at(from.len().min(segment.length as usize));
            region.memory.write(offset, part);
            return if rest.is_empty() { Ok(()) } else { Err(Status::LENGTH_ERROR) };
        }
        if segments.iter().any(|segment| self.find(tag, segment).is_none()) {
            return Err(Status::PROTECTION_ERROR);
        }
        let mut rest = from;
        for segment in segments {
            let (region, offset) = self.find(tag, segment).expect("it was there just now");
            let (part, behind) = rest.split_at(rest.len().min(segment.length as usize));
            region.memory.write(offset, part);
            rest = behind;
        }
        if rest.is_empty() { Ok(()) } else { Err(Status::LENGTH_ERROR) }
    }

    /// Whether RDMA of the peer is permitted there.
    pub(super) fn permits(&self, tag: u32, there: &Segment, write: bool) -> bool {
        self.find(tag, there).is_some_and(|(region, _)| if write { region.write } else { region.read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(tag: u32, length: u64) -> Region {
        let (memory, _file) = Memory::create("test", length as usize).unwrap();
        Region { memory, base: 1 << 40, length, tag, write: false, read: true }
    }

    fn segment(handle: u32, offset: u64, length: u32) -> Segment {
        Segment { address: (1 << 40) + offset, handle, length }
    }

    #[test]
    fn a_segment_is_good_with_its_handle_its_tag_and_all_of_its_bytes() {
        let mut regions = Regions::default();
        let handle = regions.insert(region(7, 100)).unwrap();
        let bytes: Vec<u8> = (0..100).collect();
        regions.scatter(7, &[segment(handle, 0, 60), segment(handle, 60, 40)], &bytes).unwrap();
        let gather = |tag, segments: &[Segment]| {
            let mut to = Vec::new();
            regions.gather(tag, segments, &mut to).map(|()| to)
        };
        assert_eq!(gather(7, &[segment(handle, 98, 2), segment(handle, 5, 3)]), Ok(vec![98, 99, 5, 6, 7]));
        assert_eq!(gather(7, &[segment(handle, 100, 0)]), Ok(vec![]));
        let error = Err(Status::PROTECTION_ERROR);
        assert_eq!(gather(8, &[segment(handle, 0, 1)]), error, "another tag");
        assert_eq!(gather(7, &[segment(handle, 99, 2)]), error, "a byte outside");
        assert_eq!(gather(7, &[segment(handle + 1, 0, 1)]), error, "a place that nobody took");
        assert_eq!(gather(7, &[segment(handle + 256, 0, 1)]), error, "a handle that is not yet");
        let before = Segment { address: (1 << 40) - 1, handle, length: 2 };
        assert_eq!(gather(7, &[before]), error);
        assert_eq!(gather(7, &[Segment { address: u64::MAX, handle, length: u32::MAX }]), error);
        assert!(regions.permits(7, &segment(handle, 0, 100), false));
        assert!(
            !regions.permits(7, &segment(handle, 0, 1), true)
                && !regions.permits(8, &segment(handle, 0, 1), false)
        );
    }

    #[test]
    fn nothing_is_scattered_unless_all_of_it_can_be() {
        let mut regions = Regions::default();
        let handle = regions.insert(region(7, 64)).unwrap();
        let bad = [segment(handle, 0, 10), segment(handle, 60, 10)];
        assert_eq!(regions.scatter(7, &bad, &[9; 20]), Err(Status::PROTECTION_ERROR));
        let mut to = Vec::new();
        regions.gather(7, &[segment(handle, 0, 10)], &mut to).unwrap();
        assert_eq!(to, [0; 10]);
    }

    #[test]
    fn a_handle_that_was_given_back_is_nobody_elses() {
        let mut regions = Regions::default();
        let first = regions.insert(region(7, 10)).unwrap();
        assert!(regions.uses(7) && regions.remove(first).is_some() && !regions.uses(7));
        let second = regions.insert(region(7, 10)).unwrap();
        assert_eq!((first & 0xff, regions.remove(first).is_some()), (second & 0xff, false));
        assert_eq!(
            regions.gather(7, &[segment(first, 0, 1)], &mut Vec::new()),
            Err(Status::PROTECTION_ERROR)
        );
        for _ in 1..MOST {
            regions.insert(region(7, 10)).unwrap();
        }
        assert!(matches!(regions.insert(region(7, 10)), Err((ViRefusal::Resource, _))));
        assert!(regions.remove(u32::MAX).is_none());
    }
}
