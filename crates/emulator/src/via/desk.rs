//! Desk between END and the control thread: orders and replies.
//!
//! Both sides depend on this module, and neither on the other. A flag marks a pending order, since
//! END polls for orders as often as for doorbells.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use laxity_vi::provider::{Answer, CompletionEntries, ControlRequest, Memory, ViQueues};

/// Maximum number of processes, and upper limit of their numbers in orders. One user may have half
/// of them.
pub(super) const MOST_PROCESSES: usize = 128;
/// Maximum number of virtual interfaces of a process.
pub(super) const MOST_VIS: u32 = 64;
/// Maximum number of protection tags, and of completion queues, of a process.
pub(super) const MOST_MADE: usize = 64;
/// Maximum number of virtual interfaces of one adapter, including those that the firmware has not
/// finished. One user may have half of them.
pub(super) const MOST_AT_ADAPTER: usize = 512;

/// Object that was created for a process, or is no longer needed.
#[derive(Debug)]
pub(super) enum Thing {
    Memory(Memory),
    Queues(ViQueues),
    Entries(CompletionEntries),
}

#[derive(Debug)]
pub(super) enum Order {
    /// A process has opened an adapter, and has these doorbells.
    Open { process: u32, node: u32, doorbells: Memory },
    /// A request of the process, with the created object.
    Ask { process: u32, request: ControlRequest, brought: Option<Thing> },
    /// The process is gone.
    Gone { process: u32 },
    /// End of the service.
    Stop,
}

/// Response, and objects that are no longer needed.
pub(super) struct Reply {
    pub(super) answer: Answer,
    /// Dropped by the receiver, which may take its time.
    pub(super) _rest: Vec<Thing>,
}

pub(super) struct Desk {
    pub(super) orders: Receiver<Order>,
    pub(super) replies: Sender<Reply>,
    /// Whether an order is pending.
    asked: Arc<AtomicBool>,
    /// Whether the service is to end, and whether END has seen that.
    over: Arc<AtomicBool>,
    heard_over: Cell<bool>,
}

impl Desk {
    /// Creates a desk, and its counterpart for the control thread. Once `over` is set, orders are
    /// handled at once.
    pub(super) fn with_counter(over: &Arc<AtomicBool>) -> (Self, Counter) {
        let (orders, taken) = mpsc::channel();
        let (answered, replies) = mpsc::channel();
        let asked = Arc::new(AtomicBool::new(false));
        let (over, heard_over) = (over.clone(), Cell::new(false));
        let desk = Self { orders: taken, replies: answered, asked: asked.clone(), over, heard_over };
        (desk, Counter { orders, replies, asked })
    }

    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.is_over() && !self.heard_over.get()
    }

    /// Whether the service is to end: orders then wait neither for doorbells nor for late events.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether an order is pending; also true once after `over` is set, for an order that was seen
    /// and still waits. Clears the flag, so later orders count as new.
    pub(super) fn hear(&self) -> bool {
        if self.is_over() {
            return self.asked.swap(false, Ordering::AcqRel) | !self.heard_over.replace(true);
        }
        self.is_asked() && self.asked.swap(false, Ordering::AcqRel)
    }
}

pub(super) struct Counter {
    orders: Sender<Order>,
    replies: Receiver<Reply>,
    pub(super) asked: Arc<AtomicBool>,
}

impl Counter {
    /// Puts an order on the desk and waits for the reply; `None` when END has ended.
    pub(super) fn ask(&self, order: Order) -> Option<Reply> {
        self.orders.send(order).ok()?;
        self.asked.store(true, Ordering::Release);
        self.replies.recv().ok()
    }
}
