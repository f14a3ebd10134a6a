//! Receive buffers: an interface's own, partly reserved for real time, and its part of a common
//! pool.
//!
//! With one pool a busy interface may take every buffer, and an idle one backs off needlessly at a
//! shortage (thesis §7.4.2); with own buffers only, some are idle where others are short. Thesis
//! §7.4.4 proposes both: own buffers for each interface, and a pool for the rest. Buffers are
//! equal, so their assignment is counting: best effort fills the interface's own that are not for
//! real time, real time the rest of its own, and the excess is the pool's.

use laxity_qos::discipline::Class;

#[derive(Debug)]
pub(super) struct Buffers {
    own: u32,
    /// Those among them that best effort may not have.
    real_time: u32,
    /// Packets in them, and those promised to packets on their way; by class.
    filled: [u32; 2],
    promised: [u32; 2],
}

impl Buffers {
    /// `own` buffers, at least `real_time` of them.
    pub(super) fn new(own: u32, real_time: u32) -> Self {
        Self { own, real_time: real_time.min(own), filled: [0; 2], promised: [0; 2] }
    }

    pub(super) fn own(&self) -> u32 {
        self.own
    }

    /// Own buffers that are empty and promised.
    pub(super) fn promised(&self) -> u32 {
        let of_pool = self.of_pool() - self.filled_of_pool();
        self.promised[0] + self.promised[1] - of_pool
    }

    /// Own buffers that are empty.
    pub(super) fn free(&self) -> u32 {
        self.own - (self.filled[0] + self.filled[1] - self.filled_of_pool())
    }

    /// Buffers of the pool that it has, promised ones included.
    pub(super) fn of_pool(&self) -> u32 {
        self.beyond(self.taken())
    }

    /// Those among them that hold a packet.
    pub(super) fn filled_of_pool(&self) -> u32 {
        self.beyond(self.filled)
    }

    /// Whether there is a buffer for another packet of `class`, with `pool` left of the common ones.
    pub(super) fn has_room(&self, class: Class, pool: u32) -> bool {
        let taken = self.taken();
        let mut more = taken;
        more[index(class)] += 1;
        self.beyond(more) - self.beyond(taken) <= pool
    }

    pub(super) fn promise(&mut self, class: Class) {
        self.promised[index(class)] += 1;
    }

    pub(super) fn withdraw(&mut self, class: Class) {
        self.promised[index(class)] -= 1;
    }

    pub(super) fn fill(&mut self, class: Class) {
        self.filled[index(class)] += 1;
    }

    pub(super) fn empty(&mut self, class: Class) {
        self.filled[index(class)] -= 1;
    }

    fn taken(&self) -> [u32; 2] {
        [self.filled[0] + self.promised[0], self.filled[1] + self.promised[1]]
    }

    /// Number of these packets without room in its own buffers.
    fn beyond(&self, [real_time, best_effort]: [u32; 2]) -> u32 {
        let rest = best_effort.min(self.own - self.real_time);
        (best_effort - rest) + real_time.saturating_sub(self.own - rest)
    }
}

fn index(class: Class) -> usize {
    usize::from(class == Class::BestEffort)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(own: u32, real_time: u32, filled: [u32; 2]) -> Buffers {
        Buffers { filled, ..Buffers::new(own, real_time) }
    }

    #[test]
    fn best_effort_never_has_what_is_for_real_time_which_may_have_all() {
        let buffers = with(4, 2, [0, 2]);
        assert!(!buffers.has_room(Class::BestEffort, 0) && buffers.has_room(Class::RealTime, 0));
        assert!(with(4, 2, [1, 2]).has_room(Class::RealTime, 0), "the second of its two");
        assert!(!with(4, 2, [2, 2]).has_room(Class::RealTime, 0));
        assert!(with(4, 2, [3, 0]).has_room(Class::RealTime, 0), "nobody else needs them");
        assert!(!with(4, 2, [4, 0]).has_room(Class::BestEffort, 0), "until real time has had all");
    }

    #[test]
    fn what_is_beyond_its_own_is_the_pools() {
        let buffers = with(4, 2, [1, 3]);
        assert_eq!((buffers.of_pool(), buffers.free()), (1, 1));
        assert!(buffers.has_room(Class::BestEffort, 1) && !buffers.has_room(Class::BestEffort, 0));
        assert!(buffers.has_room(Class::RealTime, 0), "its own part is untouched");
        let mut buffers = with(1, 0, [0, 1]);
        buffers.promise(Class::BestEffort);
        assert_eq!((buffers.of_pool(), buffers.filled_of_pool()), (1, 0));
        assert_eq!((buffers.free(), buffers.promised()), (0, 0), "the one that is promised is the pool's");
        buffers.withdraw(Class::BestEffort);
        buffers.empty(Class::BestEffort);
        assert_eq!((buffers.of_pool(), buffers.free()), (0, 1));
    }
}
