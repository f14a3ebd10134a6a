//! The reference of `D_order`.

use super::*;

/// `D_order` as it is stated: every place from the top, every response time from scratch.
pub(crate) struct Naive {
    pub(crate) environment: Environment,
    pub(crate) admitted: Vec<Request>,
}

impl Naive {
    pub(crate) fn shared(&self, order: &[Request]) -> Option<Shared> {
        let environment = &self.environment;
        let all = order
            .iter()
            .fold(Population::of_best_effort(environment), |all, request| all.with(environment, request));
        Shared::new(environment, &all).ok()
    }

    pub(crate) fn response(&self, shared: &Shared, order: &[Request], place: usize) -> Option<u128> {
        let demand = |request: &Request| shared.demand(&self.environment, request);
        let limit = u128::from(order[place].deadline().as_ps());
        let own = shared.constant() + demand(&order[place]);
        let mut r = own;
        while r <= limit {
            let t = u64::try_from(r).unwrap();
            let higher = order[..place]
                .iter()
                .map(|request| demand(request) * u128::from(t.div_ceil(request.spec().min_interval.as_ps())));
            let next = own + higher.sum::<u128>() + response::demand(&shared.activations, t);
            if next == r {
                return Some(r);
            }
            r = next;
        }
        None
    }

    pub(crate) fn request(&mut self, request: Request, from: usize) -> Option<(usize, u128)> {
        for place in from..=self.admitted.len() {
            let mut order = self.admitted.clone();
            order.insert(place, request);
            let shared = self.shared(&order)?;
            let meets = |at: usize| self.response(&shared, &order, at);
            if (place + 1..order.len()).any(|at| meets(at).is_none()) {
                continue;
            }
            let bound = meets(place)?;
            if (0..place).any(|at| meets(at).is_none()) {
                return None;
            }
            self.admitted = order;
            return Some((place, bound));
        }
        unreachable!("nobody stands below the lowest place")
    }
}
