//! The order of channels by deadline, once all are admitted.
//!
//! `D_order` gives a newcomer the highest priority that those below tolerate. If deadlines are long, the last
//! channel of a file is the first at each port, and the most urgent one may be the last: it had 1145 us where
//! FIFO queues give 377. Every response time of the order by deadline is within its deadline if that of any
//! order is (Leung and Whitehead 1982), except where blocking or shared levels depend on the order. So all
//! channels are placed again, by their deadlines, and the old order stays where one of them is refused.

use super::{AdmissionTable, Decision, Test};

impl AdmissionTable {
    /// Orders channels with levels by their deadlines, and equal deadlines by admission, if all of them are
    /// admitted in that order. Levels by hand stay.
    pub fn order_by_deadline(&mut self) {
        if self.test != Test::DOrder || !self.has_levels() || self.is_by_hand() {
            return;
        }
        let mut order: Vec<_> =
            self.channels.iter().map(|channel| (channel.deadline(), channel.id.0, channel.request)).collect();
        if order.is_sorted_by_key(|(deadline, id, _)| (*deadline, *id)) {
            return;
        }
        order.sort_by_key(|(deadline, id, _)| (*deadline, *id));
        let Ok(mut table) = Self::with_test(self.environment.clone(), self.test) else { return };
        table.through = self.through.clone();
        for (place, (_, id, request)) in order.into_iter().enumerate() {
            table.next_id = id;
            if !matches!(table.request_from(request, place), Decision::Admitted { .. }) {
                return;
            }
        }
        table.next_id = self.next_id;
        *self = table;
    }
}

#[cfg(test)]
mod tests {
    use laxity_qos::traffic::TrafficSpec;
    use laxity_units::{Bytes, Span};

    use crate::tests::of_round_figures;
    use crate::{AdmissionTable, Decision, Request, ResourceModel};

    fn asks(deadline: u64) -> Request {
        let (size, min_interval) = (Bytes::new(1000), Span::from_ms(100));
        let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval };
        Request::new(spec, Span::from_us(deadline)).unwrap()
    }

    fn table(levels: u32) -> AdmissionTable {
        let mut environment = of_round_figures(ResourceModel::O1, Span::from_ns(20));
        environment.levels = Some(levels);
        AdmissionTable::new(environment).unwrap()
    }

    /// The last newcomer is the first in the order, and the most urgent channel ends as the first. Names and
    /// the next name stay.
    #[test]
    fn the_most_urgent_channel_is_the_first() {
        let mut table = table(8);
        for deadline in [20_000, 40_000, 30_000] {
            assert!(matches!(table.request(asks(deadline)), Decision::Admitted { .. }));
        }
        let order = |table: &AdmissionTable| table.bounds().iter().map(|b| b.id.0).collect::<Vec<_>>();
        let before = table.bounds();
        assert_eq!(order(&table), [2, 1, 0]);
        table.order_by_deadline();
        assert_eq!(order(&table), [0, 2, 1]);
        // Equal channels have the bounds of their places.
        let bounds = |bounds: &[crate::Bound]| bounds.iter().map(|b| b.bound).collect::<Vec<_>>();
        assert_eq!(bounds(&table.bounds()), bounds(&before));
        assert!(
            matches!(table.request(asks(30_000)), Decision::Admitted { id, .. } if id.0 == 3),
            "the next name is a new one"
        );
    }
}
