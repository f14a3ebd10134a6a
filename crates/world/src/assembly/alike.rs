//! Shared descriptions of equal hosts.
//!
//! Hosts of a template differ in their state and not in their description. Equal hosts point to one
//! description, so a thousand hosts read the same few cache lines.

use std::collections::VecDeque;
use std::sync::Arc;

use laxity_qos::channel::Config;
use laxity_qos::costs::HostCosts;

/// How many of those seen last a new one is compared with: what is of one template stands together
/// in a file.
const SEEN: usize = 16;

/// Values, of which equal ones are the same.
#[derive(Debug)]
pub(super) struct Alike<T>(VecDeque<Arc<T>>);

impl<T> Default for Alike<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: PartialEq> Alike<T> {
    /// The one that is like `value`, if it has been seen lately; else that is one from now on.
    pub(super) fn of(&mut self, value: T) -> Arc<T> {
        let seen = self.0.iter().position(|seen| **seen == value);
        let found = match seen {
            Some(place) => self.0.remove(place).expect("it is there"),
            None => Arc::new(value),
        };
        self.0.push_front(found.clone());
        self.0.truncate(SEEN);
        found
    }
}

#[derive(Debug, Default)]
pub(super) struct Templates {
    pub(super) costs: Alike<HostCosts>,
    pub(super) subsystems: Alike<Config>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_are_the_same_and_others_are_not() {
        let mut alike = Alike::default();
        let first = alike.of(7);
        for other in 0..SEEN - 1 {
            assert!(!Arc::ptr_eq(&first, &alike.of(100 + other)));
        }
        assert!(Arc::ptr_eq(&first, &alike.of(7)), "it was seen lately");
        for other in 0..SEEN {
            assert_eq!(*alike.of(200 + other), 200 + other);
        }
        let again = alike.of(7);
        assert_eq!((*again, Arc::ptr_eq(&first, &again)), (7, false), "no more than so many are kept");
    }
}
