//! Order in which a port's queues are read.
//!
//! Queue 0 has the frames without a guarantee; the others have priority, and alternate among each
//! other. With strict priority, programs that exceed their contracts would starve queue 0, so it is
//! read first after [`IN_A_ROW`] frames of the others.

/// Frames of the other queues that are read before a waiting frame of queue 0.
const IN_A_ROW: u8 = 4;

#[derive(Debug, Clone, Default)]
pub(super) struct Turns {
    /// Next of the other queues, counted from 0.
    first: usize,
    /// Frames of the other queues since the last of queue 0.
    in_a_row: u8,
}

impl Turns {
    /// The `number` queues of a port, in the order of reading.
    #[inline]
    pub(super) fn order(&self, number: usize) -> impl Iterator<Item = usize> + use<> {
        let Turns { first, in_a_row } = *self;
        let others = number - 1;
        let rest_first = in_a_row >= IN_A_ROW;
        (0..number).map(move |place| match place {
            0 if rest_first => 0,
            _ if place == others && !rest_first => 0,
            _ => 1 + (first + place - usize::from(rest_first)) % others,
        })
    }

    /// Records a frame read from `queue`, of `number`.
    #[inline]
    pub(super) fn read(&mut self, queue: usize, number: usize) {
        match queue {
            0 => self.in_a_row = 0,
            _ => {
                self.in_a_row = self.in_a_row.saturating_add(1);
                self.first = queue % (number - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_queue_is_asked_once_and_the_rest_comes_last_until_it_has_waited() {
        let mut turns = Turns::default();
        let order = |turns: &Turns| turns.order(4).collect::<Vec<_>>();
        assert_eq!(order(&turns), [1, 2, 3, 0]);
        turns.read(1, 4);
        assert_eq!(order(&turns), [2, 3, 1, 0]);
        for _ in 1..IN_A_ROW {
            turns.read(3, 4);
        }
        assert_eq!(order(&turns), [0, 1, 2, 3]);
        turns.read(2, 4);
        assert_eq!(order(&turns), [0, 3, 1, 2], "until it is read or found empty, it stays first");
        turns.read(0, 4);
        assert_eq!(order(&turns), [3, 1, 2, 0]);
        assert_eq!(Turns::default().order(1).collect::<Vec<_>>(), [0]);
        assert_eq!(Turns::default().order(2).collect::<Vec<_>>(), [1, 0]);
    }
}
