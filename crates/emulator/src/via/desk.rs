//! The desk between END and the thread that talks to programs: what is asked there, and what is answered.
//!
//! Both sides see this, and neither the other. That there is an order is a flag, since END looks whether there is one as often as it looks for doorbells.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use laxity_vi::provider::{Answer, CompletionEntries, Memory, Request, ViQueues};

/// Processes that may have opened an adapter at once: an order names one by a number below that. One user may have half of them.
pub(super) const MOST_PROCESSES: usize = 128;
/// Virtual interfaces that a process may have.
pub(super) const MOST_VIS: u32 = 64;
/// Protection tags and completion queues that a process may have, each.
pub(super) const MOST_MADE: usize = 64;
/// Virtual interfaces of one adapter, those included that the firmware has not done with. One user may have half of them.
pub(super) const MOST_AT_ADAPTER: usize = 512;

/// Something that was made for a process, or is no longer needed.
#[derive(Debug)]
pub(super) enum Thing {
    Memory(Memory),
    Queues(ViQueues),
    Entries(CompletionEntries),
}

/// What is put on the desk.
#[derive(Debug)]
pub(super) enum Order {
    /// A process has opened an adapter, and has these doorbells.
    Open { process: u32, node: u32, doorbells: Memory },
    /// It asks for something; what that takes has been made.
    Ask { process: u32, request: Request, brought: Option<Thing> },
    /// It is gone.
    Gone { process: u32 },
    /// It is over.
    Stop,
}

/// The answer, and what nobody needs any more.
pub(super) struct Reply {
    pub(super) answer: Answer,
    /// Held to be dropped where that may take its time.
    pub(super) _rest: Vec<Thing>,
}

/// Where orders come in.
pub(super) struct Desk {
    pub(super) orders: Receiver<Order>,
    pub(super) replies: Sender<Reply>,
    /// Whether there is an order.
    asked: Arc<AtomicBool>,
    /// Whether it is to be over, and whether that was heard.
    over: Arc<AtomicBool>,
    heard_over: Cell<bool>,
}

impl Desk {
    /// A desk, and how it is reached from outside. Once it is `over`, orders are answered at once.
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

    /// Whether it is to be over: what is asked for then waits neither for doorbells nor for events that are late.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether there is an order, or may be one that was heard and waits for its time when it is over; those that come from now on are new
    /// ones.
    pub(super) fn hear(&self) -> bool {
        if self.is_over() {
            return self.asked.swap(false, Ordering::AcqRel) | !self.heard_over.replace(true);
        }
        self.is_asked() && self.asked.swap(false, Ordering::AcqRel)
    }
}

/// END's desk, from outside.
pub(super) struct Counter {
    orders: Sender<Order>,
    replies: Receiver<Reply>,
    pub(super) asked: Arc<AtomicBool>,
}

impl Counter {
    /// Puts an order on the desk and waits for the answer; `None` when END has ended.
    pub(super) fn ask(&self, order: Order) -> Option<Reply> {
        self.orders.send(order).ok()?;
        self.asked.store(true, Ordering::Release);
        self.replies.recv().ok()
    }
}
