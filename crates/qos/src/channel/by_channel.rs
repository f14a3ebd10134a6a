//! What there is one of for each channel, where a host has few of all the channels of a network.
//!
//! Channels have one number everywhere, so that a packet keeps its own from host to host. What a host keeps of those that
//! never come there is four bytes, up to the last that does.

use std::ops::{Index, IndexMut};

use super::message::ChannelId;

/// The place of a channel that is not here.
const NOWHERE: u32 = u32::MAX;

/// Values by channel, for the channels that were given one.
#[derive(Debug, Clone)]
pub struct ByChannel<T> {
    all: Vec<T>,
    /// Where the value of each number lies.
    places: Vec<u32>,
}

impl<T> Default for ByChannel<T> {
    fn default() -> Self {
        Self { all: Vec::new(), places: Vec::new() }
    }
}

impl<T> ByChannel<T> {
    /// The number behind the last that has a value.
    pub fn next(&self) -> ChannelId {
        ChannelId(u32::try_from(self.places.len()).expect("channel numbers fit"))
    }

    /// Gives `channel` its value. Panics if it has one.
    pub fn insert(&mut self, channel: ChannelId, value: T) {
        if self.places.len() <= channel.index() {
            self.places.resize(channel.index() + 1, NOWHERE);
        }
        let place = &mut self.places[channel.index()];
        assert!(*place == NOWHERE, "channel {} was opened before", channel.0);
        *place = u32::try_from(self.all.len()).expect("there are fewer values than numbers");
        self.all.push(value);
    }

    /// Where the value of `channel` lies among all that there are, which it does from now on; made if it has none.
    #[inline]
    pub(crate) fn place(&mut self, channel: ChannelId) -> usize
    where
        T: Default,
    {
        match self.places.get(channel.index()) {
            Some(&place) if place != NOWHERE => place as usize,
            _ => {
                self.insert(channel, T::default());
                self.all.len() - 1
            }
        }
    }

    /// All values, by the place where each lies.
    #[inline]
    pub(crate) fn all_mut(&mut self) -> &mut [T] {
        &mut self.all
    }

    /// All values with their channels, by number.
    pub fn iter(&self) -> impl Iterator<Item = (ChannelId, &T)> {
        let places = (0..).zip(&self.places).filter(|(_, place)| **place != NOWHERE);
        places.map(|(number, place)| (ChannelId(number), &self.all[*place as usize]))
    }
}

impl<T> Index<ChannelId> for ByChannel<T> {
    type Output = T;

    #[inline]
    fn index(&self, channel: ChannelId) -> &T {
        &self.all[self.places[channel.index()] as usize]
    }
}

impl<T> IndexMut<ChannelId> for ByChannel<T> {
    #[inline]
    fn index_mut(&mut self, channel: ChannelId) -> &mut T {
        &mut self.all[self.places[channel.index()] as usize]
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

    #[test]
    #[should_panic(expected = "channel 3 was opened before")]
    fn a_channel_is_opened_once() {
        let mut values = ByChannel::default();
        values.insert(ChannelId(3), ());
        values.insert(ChannelId(3), ());
    }
}
