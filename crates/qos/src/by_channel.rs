//! A map from channels to values, for hosts with few of the network's channels.
//!
//! Channels have the same number everywhere, so that a packet keeps its own from host to host. A
//! host should store no state for channels that never pass it. So only the first few hundred
//! numbers have an entry each, which is enough for a single host. The positions of greater ones are
//! in a hash table of open addressing, at least half of it free.

use std::ops::{Index, IndexMut};

use crate::ahead::fetch;
use crate::names::ChannelId;

/// Position of a channel in a station's table. A packet carries the label to the station, which
/// then needs no lookup by number; MPLS uses the same term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(u32);

impl Label {
    /// No position is known.
    pub const NONE: Label = Label(NOWHERE);

    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

const NOWHERE: u32 = u32::MAX;
/// Lower numbers have an entry each, up to the last that has a value.
const DIRECT: usize = 256;
/// Entries of the smallest table.
const LEAST: usize = 8;

#[derive(Debug, Clone, Copy)]
struct Entry {
    channel: u32,
    place: u32,
}

/// Values by channel, for channels that have one.
#[derive(Debug, Clone)]
pub struct ByChannel<T> {
    all: Vec<T>,
    channels: Vec<ChannelId>,
    /// Positions of the values of small numbers.
    direct: Vec<u32>,
    /// Positions for other numbers: empty, or a power of two of entries, `taken` of them in use.
    table: Vec<Entry>,
    taken: usize,
    /// The number after the greatest so far.
    next: u32,
}

impl<T> Default for ByChannel<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            channels: Vec::new(),
            direct: Vec::new(),
            table: Vec::new(),
            taken: 0,
            next: 0,
        }
    }
}

impl<T> ByChannel<T> {
    /// The number after the greatest that has a value; the greatest possible number if that has
    /// one.
    pub fn next(&self) -> ChannelId {
        ChannelId(self.next)
    }

    /// Inserts the value of `channel`. Panics if it has one.
    pub fn insert(&mut self, channel: ChannelId, value: T) {
        assert!(self.find(channel).is_none(), "channel {} was opened before", channel.0);
        self.all.push(value);
        self.channels.push(channel);
        self.next = self.next.max(channel.0.saturating_add(1));
        self.say_where(channel, self.all.len() - 1);
    }

    /// Removes the value of `channel`, if it has one. Linear in the number of values.
    pub fn remove(&mut self, channel: ChannelId) -> Option<T> {
        let place = self.find(channel)?;
        let value = self.all.swap_remove(place);
        self.channels.swap_remove(place);
        // With open addressing other entries are found past an entry, so removing one means to
        // rebuild the table.
        self.direct.fill(NOWHERE);
        self.table.iter_mut().for_each(|entry| entry.place = NOWHERE);
        self.taken = 0;
        for place in 0..self.channels.len() {
            self.say_where(self.channels[place], place);
        }
        Some(value)
    }

    fn say_where(&mut self, channel: ChannelId, place: usize) {
        let entry = Entry {
            channel: channel.0,
            place: u32::try_from(place).expect("there are fewer values than numbers"),
        };
        if (channel.0 as usize) < DIRECT {
            let len = self.direct.len().max(channel.0 as usize + 1);
            self.direct.resize(len, NOWHERE);
            self.direct[channel.0 as usize] = entry.place;
            return;
        }
        self.taken += 1;
        if 2 * self.taken > self.table.len() {
            let len = (2 * self.table.len()).max(LEAST);
            let before = std::mem::replace(&mut self.table, vec![Entry { channel: 0, place: NOWHERE }; len]);
            before.into_iter().filter(|entry| entry.place != NOWHERE).for_each(|entry| self.enter(entry));
        }
        self.enter(entry);
    }

    fn enter(&mut self, entry: Entry) {
        let mut at = self.first(entry.channel);
        while self.table[at].place != NOWHERE {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = entry;
    }

    /// The first table position of a channel, by the upper bits of a product (Knuth, *The Art of
    /// Computer Programming*, 6.4), so that neither consecutive numbers nor distant ones collide.
    #[inline]
    fn first(&self, channel: u32) -> usize {
        let bits = self.table.len().trailing_zeros();
        (channel.wrapping_mul(0x9E37_79B9) >> (u32::BITS - bits)) as usize
    }

    #[inline]
    fn find(&self, channel: ChannelId) -> Option<usize> {
        let place = match self.direct.get(channel.0 as usize) {
            Some(place) => *place,
            None => self.look_up(channel),
        };
        (place != NOWHERE).then_some(place as usize)
    }

    /// The value of `channel`, if it has one.
    #[inline]
    pub fn get(&self, channel: ChannelId) -> Option<&T> {
        self.find(channel).map(|place| &self.all[place])
    }

    /// The value of `channel`, if it has one, mutable.
    #[inline]
    pub fn get_mut(&mut self, channel: ChannelId) -> Option<&mut T> {
        self.find(channel).map(|place| &mut self.all[place])
    }

    #[inline]
    fn known(&self, channel: ChannelId) -> usize {
        self.find(channel).expect("the channel is here")
    }

    fn look_up(&self, channel: ChannelId) -> u32 {
        if self.table.is_empty() {
            return NOWHERE;
        }
        let mut at = self.first(channel.0);
        loop {
            let Entry { channel: other, place } = self.table[at];
            if place == NOWHERE || other == channel.0 {
                return place;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// The position of the value of `channel`, which is created if missing, and stays until a
    /// removal.
    #[inline]
    pub(crate) fn place(&mut self, channel: ChannelId) -> usize
    where
        T: Default,
    {
        match self.find(channel) {
            Some(place) => place,
            None => {
                self.insert(channel, T::default());
                self.all.len() - 1
            }
        }
    }

    /// The label of `channel`, valid until any value is [removed](Self::remove); [`Label::NONE`] if
    /// it has no value.
    pub fn label(&self, channel: ChannelId) -> Label {
        self.find(channel).map_or(Label::NONE, |place| Label(place as u32))
    }

    /// The label of a packet of `channel` that arrived with `label`. Panics if the channel has no
    /// value here.
    #[inline]
    pub fn labelled(&self, label: Label, channel: ChannelId) -> Label {
        if label == Label::NONE {
            return Label(self.known(channel) as u32);
        }
        debug_assert_eq!(self.channels[label.0 as usize], channel, "a label is of the channel");
        label
    }

    /// Prefetches the value at a label.
    #[inline]
    pub fn fetch(&self, label: Label) {
        if let Some(value) = self.all.get(label.0 as usize) {
            fetch(value);
        }
    }

    /// Prefetches the entries for a lookup of `channel` by number.
    #[inline]
    pub fn fetch_way(&self, channel: ChannelId) {
        match self.direct.get(channel.0 as usize) {
            Some(place) => fetch(place),
            None if self.table.is_empty() => {}
            None => fetch(&self.table[self.first(channel.0)]),
        }
    }

    #[inline]
    pub(crate) fn all_mut(&mut self) -> &mut [T] {
        &mut self.all
    }

    /// All values with their channels, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ChannelId, &T)> {
        let mut all: Vec<_> = self.channels.iter().copied().zip(&self.all).collect();
        all.sort_unstable_by_key(|(channel, _)| *channel);
        all.into_iter()
    }
}

impl<T> Index<ChannelId> for ByChannel<T> {
    type Output = T;

    #[inline]
    fn index(&self, channel: ChannelId) -> &T {
        &self.all[self.known(channel)]
    }
}

impl<T> IndexMut<ChannelId> for ByChannel<T> {
    #[inline]
    fn index_mut(&mut self, channel: ChannelId) -> &mut T {
        let place = self.known(channel);
        &mut self.all[place]
    }
}

impl<T> Index<Label> for ByChannel<T> {
    type Output = T;

    #[inline]
    fn index(&self, label: Label) -> &T {
        &self.all[label.0 as usize]
    }
}

impl<T> IndexMut<Label> for ByChannel<T> {
    #[inline]
    fn index_mut(&mut self, label: Label) -> &mut T {
        &mut self.all[label.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_is_there() {
        let mut values = ByChannel::default();
        assert_eq!((values.next(), values.iter().next()), (ChannelId(0), None));
        values.insert(ChannelId(5), "five");
        values.insert(ChannelId(2), "two");
        assert_eq!([values[ChannelId(5)], values[ChannelId(2)]], ["five", "two"]);
        let found = values.iter().map(|(channel, value)| (channel.0, *value));
        assert_eq!(found.collect::<Vec<_>>(), [(2, "two"), (5, "five")]);
        assert_eq!(values.next(), ChannelId(6));
        values[ChannelId(2)] = "zwei";
        let all: Vec<_> = values.iter().map(|(channel, value)| (channel.0, *value)).collect();
        assert_eq!(all, [(2, "zwei"), (5, "five")]);
    }

    /// However numbers are spaced, each leads to its own value and the others to none.
    #[test]
    fn every_number_is_found() {
        for step in [1, 2, 7, 64, 100, 1 << 16] {
            let mut values = ByChannel::default();
            for number in (0..500).rev() {
                values.insert(ChannelId(number * step), number);
                assert_eq!(values.place(ChannelId(number * step)), values.all.len() - 1);
            }
            assert!((0..500).all(|number| values[ChannelId(number * step)] == number), "{step}");
            assert!((0..500).all(|number| values.find(ChannelId((500 + number) * step)).is_none()));
            let in_order = (0..500).map(|number| (ChannelId(number * step), number));
            assert!(values.iter().map(|(channel, value)| (channel, *value)).eq(in_order));
            assert_eq!(values.next(), ChannelId(499 * step + 1));
        }
    }

    /// A label leads to the same value as the number, whether the packet arrived with the label or
    /// without.
    #[test]
    fn a_label_stands_for_a_number() {
        for step in [1, 1 << 16] {
            let mut values = ByChannel::default();
            (0..300).rev().for_each(|number| values.insert(ChannelId(number * step), number));
            for number in 0..300 {
                let channel = ChannelId(number * step);
                let label = values.label(channel);
                assert_eq!(values.labelled(label, channel), label);
                assert_eq!(values.labelled(Label::NONE, channel), label);
                values[label] += 1;
                assert_eq!((values[label], values[channel]), (number + 1, number + 1));
            }
            assert_eq!(values.label(ChannelId(300 * step)), Label::NONE);
        }
    }

    /// After any removals exactly the remaining values are found, and a reinserted one is found
    /// again.
    #[test]
    fn what_was_taken_away_is_not_there() {
        for step in [1, 64, 1 << 16] {
            let mut values = ByChannel::default();
            (0..500).for_each(|number| values.insert(ChannelId(number * step), number));
            for number in (0..500).filter(|number| number % 3 != 1) {
                assert_eq!(values.remove(ChannelId(number * step)), Some(number));
                assert_eq!(values.remove(ChannelId(number * step)), None);
            }
            let left = |values: &ByChannel<u32>| values.iter().map(|(_, value)| *value).collect::<Vec<_>>();
            assert_eq!(
                left(&values),
                (0..500).filter(|number| number % 3 == 1).collect::<Vec<_>>(),
                "{step}"
            );
            assert!(
                (0..500).all(|number| values.find(ChannelId(number * step)).is_some() == (number % 3 == 1))
            );
            values.insert(ChannelId(3 * step), 3);
            assert_eq!((values[ChannelId(3 * step)], values[ChannelId(4 * step)]), (3, 4));
            assert_eq!(values.next(), ChannelId(499 * step + 1), "no number is given twice by itself");
        }
    }

    #[test]
    #[should_panic(expected = "channel 3 was opened before")]
    fn a_channel_is_opened_once() {
        let mut values = ByChannel::default();
        values.insert(ChannelId(3), ());
        values.insert(ChannelId(3), ());
    }
}
