//! Doorbells of processes, which END's clock polls while it waits.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use laxity_engine::InputDoorbell as Bell;
use laxity_vi::provider::{self, Hearer, Memory, Which};

use super::desk::Desk;

/// Doorbell of a process: virtual interface as named by it, queue, and number of descriptors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rung {
    pub(super) process: u32,
    pub(super) vi: u32,
    pub(super) which: Which,
    pub(super) count: u16,
}

/// Doorbells of all processes, polled by the clock and consumed by the cluster.
#[derive(Debug, Default)]
pub(super) struct Bells(RefCell<Vec<Option<(Memory, Hearer)>>>);

impl Bells {
    pub(super) fn all(&self) -> RefMut<'_, Vec<Option<(Memory, Hearer)>>> {
        self.0.borrow_mut()
    }

    pub(super) fn put(&self, process: u32, memory: Memory) {
        let mut places = self.0.borrow_mut();
        let place = process as usize;
        if places.len() <= place {
            places.resize_with(place + 1, || None);
        }
        places[place] = Some((memory, Hearer::default()));
    }

    pub(super) fn take(&self, process: u32) -> Option<Memory> {
        self.0.borrow_mut().get_mut(process as usize)?.take().map(|(memory, _)| memory)
    }

    /// Marks the doorbells that have been rung by now.
    pub(super) fn mark(&self) {
        self.0.borrow_mut().iter_mut().flatten().for_each(|(memory, hearer)| hearer.mark(memory));
    }

    pub(super) fn call(&self, process: u32) {
        if let Some(Some((memory, _))) = self.0.borrow().get(process as usize) {
            provider::announce_call(memory);
        }
    }
}

/// Rings when a process has rung, or an order is pending.
pub(super) struct AnyBell {
    pub(super) bells: Rc<Bells>,
    pub(super) desk: Rc<Desk>,
}

impl Bell for AnyBell {
    #[inline]
    fn is_rung(&mut self) -> bool {
        let bells = self.bells.0.borrow();
        bells.iter().flatten().any(|(memory, hearer)| hearer.is_rung(memory)) || self.desk.is_asked()
    }
}
