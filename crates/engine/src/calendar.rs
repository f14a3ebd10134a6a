//! Event calendar: pending events in order.
//!
//! # Order
//!
//! Events are ordered by their time and, at the same time, **first scheduled, first run**. If
//! same-time order were undefined, a run would depend on the shape of the heap: adding an unrelated
//! component would change all results. An event scheduled for `now` runs after all events of `now`
//! that were scheduled before it, and before time moves.
//!
//! # Shape
//!
//! A heap of `(time, sequence, event)` compares two fields with two branches, and `BinaryHeap` pays
//! for a pop and a push where a model nearly always replaces one event by another. Four measures
//! avoid this:
//!
//! * *Compact key.* Time and sequence are one `u128`, the time above; one comparison decides both.
//!   The sequence never ties, so the order is total.
//! * *Four children.* The heap is half as deep as a binary one, the smallest of four neighbours is
//!   found without a branch, and events lie beside their keys, by value.
//! * *Deferred pop.* [`Calendar::pop`] leaves a hole at the root. A handler that schedules before
//!   it returns, the common case, fills the hole: one descent in place of a pop and a push. Any
//!   other operation fills the hole with the last entry first, as an ordinary heap does at once.
//! * *The heap has only near events.* Beyond two thousand events, distant ones lie in buckets
//!   ([`far`]) and move into the heap when it is empty: a heap of a million is slow because of its
//!   memory accesses, not its comparisons.
//!
//! Events are therefore [`Copy`]: a plain value says what happens to which component; long data (a
//! frame's bytes) stays with its owner and is named by a number. An event should have only a few
//! words, since the heap moves it. Two alternatives were rejected. A heap of keys that name slots
//! of events measured a third slower with two or three events, the common size of models. Calendar
//! queues need tuning to the spread of times, which digits do not.
//!
//! # Withdrawing an event
//!
//! There is no cancellation, because a heap finds only its root. A component that may withdraw an
//! event keeps a generation: it schedules the event with the current generation, increments it to
//! withdraw the event, and ignores an event of another generation:
//!
//! ```
//! # use laxity_engine::Calendar;
//! # use laxity_units::Span;
//! #[derive(Clone, Copy)]
//! struct Timeout { generation: u32 }
//!
//! #[derive(Default)]
//! struct Connection { generation: u32, timeouts: u32 }
//!
//! impl Connection {
//!     fn restart(&mut self, calendar: &mut Calendar<Timeout>) {
//!         self.generation += 1;
//!         calendar.schedule_after(Span::from_ms(200), Timeout { generation: self.generation });
//!     }
//!     fn on_timeout(&mut self, timeout: Timeout) {
//!         self.timeouts += u32::from(timeout.generation == self.generation);
//!     }
//! }
//!
//! let (mut connection, mut calendar) = (Connection::default(), Calendar::new());
//! connection.restart(&mut calendar);
//! connection.restart(&mut calendar);
//! while let Some((_, timeout)) = calendar.pop() {
//!     connection.on_timeout(timeout);
//! }
//! assert_eq!(connection.timeouts, 1);
//! ```

mod far;
#[cfg(test)]
mod tests;

use std::hint::select_unpredictable;

use laxity_units::{Span, Time};

use far::Far;

/// Children of an entry.
const CHILDREN: usize = 4;
/// Heap size above which distant events are separated.
const CROWD: usize = 2048;

/// Event with its key.
///
/// Two words rather than one `u128`: its alignment of sixteen bytes would enlarge small events.
#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    time: Time,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    #[inline(always)]
    fn key(&self) -> u128 {
        u128::from(self.time.as_ps()) << 64 | u128::from(self.sequence)
    }

    /// Written word by word: a copy of the whole entry would be read in wider pieces than it was
    /// just written in, which stalls the processor.
    #[inline(always)]
    fn set(&mut self, key: u128, event: E) {
        self.time = Time::from_ps((key >> 64) as u64);
        self.sequence = key as u64;
        self.event = event;
    }
}

/// Events by the time at which they happen; at the same time, in the order in which they were
/// scheduled.
///
/// The module's header describes the order, the shape and the pattern for withdrawn events.
#[derive(Debug, Clone)]
pub struct Calendar<E> {
    now: Time,
    /// Heap-ordered by key; a hole at the root is ignored.
    heap: Vec<Entry<E>>,
    /// Whether the root was popped.
    hole: bool,
    sequence: u64,
    /// Last time with events in the heap; later events are in `far`.
    near: Time,
    far: Far<E>,
    /// Far events have moved into the heap, unnoticed by the driver so far.
    come_near: bool,
    /// Heap size at which distant events are separated next.
    crowd: usize,
    /// Number of events that have happened, popped or by [`leap`](Self::leap).
    happened: u64,
    /// A world may leap to times before this, up to this number of events; [`Time::ZERO`] for
    /// never.
    free: (Time, u64),
    /// Lower bound on the next event and on `free`, so that repeated leaps inspect the pending
    /// events once. It never exceeds the time of the next event, so it has no effect after that
    /// event.
    quiet: Time,
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Calendar<E> {
    /// Empty calendar at the start of the run.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// Empty calendar with a heap that holds `events` before it grows, within the limit on near events.
    pub fn with_capacity(events: usize) -> Self {
        let heap = Vec::with_capacity(events.min(CROWD));
        Self {
            now: Time::ZERO,
            heap,
            hole: false,
            sequence: 0,
            near: Time::MAX,
            far: Far::new(),
            come_near: false,
            crowd: CROWD,
            happened: 0,
            free: (Time::ZERO, 0),
            quiet: Time::ZERO,
        }
    }

    /// Time of the event popped last, or of the last [`Calendar::advance`] if that is later.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole) + self.far.len()
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Schedules `event` at `at`, after all events already scheduled for that time.
    ///
    /// Panics if `at` is before now, which is a bug of the model.
    // Always inlined: an event passed in memory is read whole right after it was written in parts,
    // which stalls.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: E) {
        if at < self.now {
            self.refuse(at);
        }
        let key = u128::from(at.as_ps()) << 64 | u128::from(self.sequence);
        self.sequence += 1;
        self.quiet = self.quiet.min(at);
        // Fast path for the common case: one event replaces another in a small heap.
        if self.hole && self.heap.len() <= 1 + CHILDREN && at <= self.near {
            self.hole = false;
            sink_among_few(&mut self.heap, key, event);
        } else {
            self.place(key, event);
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, at: Time) -> ! {
        panic!("an event is scheduled at {at}, before now, {}", self.now);
    }

    #[inline(never)]
    fn place(&mut self, key: u128, event: E) {
        let at = Time::from_ps((key >> 64) as u64);
        if at > self.near {
            self.far.push(Entry { time: at, sequence: key as u64, event });
        } else if self.hole {
            self.hole = false;
            sink(&mut self.heap, 0, key, event);
        } else {
            self.append(key, event);
        }
    }

    /// Schedules `event` at `span` from now; panics if that time exceeds the range.
    #[inline]
    pub fn schedule_after(&mut self, span: Span, event: E) {
        self.schedule(self.now + span, event);
    }

    /// Time of the next event.
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        let near = match self.hole {
            true => {
                let children = self.heap.iter().take(1 + CHILDREN).skip(1);
                children.min_by_key(|entry| entry.key()).map(|entry| entry.time)
            }
            false => self.heap.first().map(|entry| entry.time),
        };
        near.or_else(|| self.far.first_time())
    }

    /// Takes the next event and moves now to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.due()?;
        Some(self.take_due())
    }

    /// Takes the event that [`due`](Self::due) has just found.
    #[inline(always)]
    pub(crate) fn take_due(&mut self) -> (Time, E) {
        let first = &self.heap[0];
        self.hole = true;
        self.happened += 1;
        self.now = first.time;
        (self.now, first.event)
    }

    /// Moves now to `at` as if an event for that time had been scheduled and popped, provided that
    /// it would be the next one: no other event is pending up to and at `at`, and the driver
    /// permits it. Returns whether it moved; if not, the calendar is unchanged.
    ///
    /// A component that requests a call before all other events can thus be called without the
    /// heap. The event is counted as if it had been scheduled.
    #[inline]
    pub fn leap(&mut self, at: Time) -> bool {
        let leaps = self.happened < self.free.1 && (at < self.quiet || self.is_quiet_at(at));
        if leaps {
            debug_assert!(at >= self.now, "a world goes back to {at} from {}", self.now);
            self.now = at;
            self.happened += 1;
        }
        leaps
    }

    /// Recomputes `quiet`, and returns whether it is after `at`.
    #[inline(never)]
    fn is_quiet_at(&mut self, at: Time) -> bool {
        let next = match (self.hole, self.heap.get(1..=CHILDREN)) {
            (false, _) => self.heap.first().map(|entry| entry.time),
            (true, Some([a, b, c, d])) => Some(a.time.min(b.time).min(c.time.min(d.time))),
            (true, _) => self.heap.iter().skip(1).map(|entry| entry.time).min(),
        };
        // Far events are later than near ones.
        let far = self.near.saturating_add(Span::from_ps(1));
        self.quiet = next.unwrap_or(Time::MAX).min(far).min(self.free.0);
        at < self.quiet
    }

    /// Permits leaps to times before `before`, until `most` events have [happened](Self::happened).
    pub(crate) fn set_free(&mut self, before: Time, most: u64) {
        self.free = (before, most);
        self.quiet = Time::ZERO;
    }

    #[inline(always)]
    pub(crate) fn happened(&self) -> u64 {
        self.happened
    }

    /// Whether far events have moved into the heap since the last call.
    #[inline(always)]
    pub(crate) fn have_come_near(&mut self) -> bool {
        self.come_near && std::mem::take(&mut self.come_near)
    }

    /// Near events, in heap order.
    pub(crate) fn near(&self) -> impl Iterator<Item = &E> + Clone {
        self.heap.iter().map(|entry| &entry.event)
    }

    /// [`Calendar::next_time`] for a driver, which pops next, so the hole may be filled.
    #[inline(always)]
    pub(crate) fn due(&mut self) -> Option<Time> {
        if self.hole {
            self.fill_hole();
        }
        self.heap.first().map(|entry| entry.time)
    }

    /// Moves now to `to` without an event, as when an outside input arrives or a run ends between
    /// events.
    ///
    /// Panics if `to` is before now or passes an event.
    pub fn advance(&mut self, to: Time) {
        assert!(to >= self.now, "now, {}, is moved back to {to}", self.now);
        assert!(self.next_time().is_none_or(|next| next >= to), "now is moved to {to}, past an event");
        self.now = to;
    }

    /// Fills the hole at the root with the last entry, or with the first far events.
    #[inline(never)]
    fn fill_hole(&mut self) {
        self.hole = false;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            sink(&mut self.heap, 0, last.key(), last.event);
        } else if !self.far.is_empty() {
            self.approach();
        }
    }

    /// Moves the first far events into the heap, which is empty.
    fn approach(&mut self) {
        self.near = self.far.take_first(&mut self.heap);
        make_heap(&mut self.heap);
        self.crowd = CROWD.max(2 * self.heap.len());
        self.come_near = true;
    }

    /// Separates far from near events, if possible.
    #[cold]
    fn part(&mut self) {
        if self.far.is_empty() {
            self.far.begin(self.now);
        }
        // The far buckets have a base time that now has to reach first. Until then all stay in the
        // heap.
        if self.now >= self.far.base() {
            let mut heap = std::mem::take(&mut self.heap);
            heap.drain(..).for_each(|entry| self.far.push(entry));
            self.heap = heap;
            self.approach();
        }
    }

    /// Appends an entry and sifts it up.
    fn append(&mut self, key: u128, event: E) {
        let mut place = self.heap.len();
        self.heap.push(Entry { time: Time::MAX, sequence: 0, event });
        while place > 0 {
            let parent = (place - 1) / CHILDREN;
            if self.heap[parent].key() < key {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place].set(key, event);
        if self.heap.len() > self.crowd {
            self.part();
        }
    }
}

/// [`sink`] for a heap of only the root and its children.
///
/// The processor cannot predict which of a few events is first, and the handler has to branch on
/// the event anyway. This code therefore has no branch: both places are written, even if they are
/// one.
#[inline(always)]
fn sink_among_few<E: Copy>(heap: &mut [Entry<E>], key: u128, event: E) {
    if let [root, other] = heap {
        // Two entries: swapped or not.
        let (waits, at) = (other.event, other.key());
        let is_less = at < key;
        root.set(select_unpredictable(is_less, at, key), select_unpredictable(is_less, waits, event));
        other.set(select_unpredictable(is_less, key, at), select_unpredictable(is_less, event, waits));
        return;
    }
    let (mut place, mut least) = (0, key);
    for (child, entry) in heap.iter().enumerate().skip(1) {
        let is_less = entry.key() < least;
        place = select_unpredictable(is_less, child, place);
        least = select_unpredictable(is_less, entry.key(), least);
    }
    let risen = heap[place].event;
    heap[0].set(least, risen);
    heap[place].set(key, event);
}

/// Establishes heap order: from the last parent to the root, each entry sinks (Floyd 1964).
fn make_heap<E: Copy>(heap: &mut [Entry<E>]) {
    for place in (0..heap.len().saturating_sub(1).div_ceil(CHILDREN)).rev() {
        let entry = heap[place];
        sink(heap, place, entry.key(), entry.event);
    }
}

/// Replaces the entry at `place` of `heap` by `event`, and sifts it down.
#[inline(always)]
fn sink<E: Copy>(heap: &mut [Entry<E>], mut place: usize, key: u128, event: E) {
    let mut first = CHILDREN * place + 1;
    while let Some(children) = heap.get(first..first + CHILDREN) {
        let (child, least) = least_of_four(children);
        if key < least {
            heap[place].set(key, event);
            return;
        }
        let risen = children[child].event;
        heap[place].set(least, risen);
        place = first + child;
        first = CHILDREN * place + 1;
    }
    // The last family may be smaller, and its children are leaves. With few events, the common
    // case, only this code runs.
    if let Some(children) = heap.get(first..)
        && let Some((child, least)) = least_of_few(children)
        && least < key
    {
        let risen = children[child].event;
        heap[place].set(least, risen);
        place = first + child;
    }
    heap[place].set(key, event);
}

/// Position and value of the smallest key of four `children`, without branches.
#[inline(always)]
fn least_of_four<E>(children: &[Entry<E>]) -> (usize, u128) {
    let [a, b, c, d] = [children[0].key(), children[1].key(), children[2].key(), children[3].key()];
    let low = if b < a { (1, b) } else { (0, a) };
    let high = if d < c { (3, d) } else { (2, c) };
    if high.1 < low.1 { high } else { low }
}

/// Position and value of the smallest key of `children`.
#[inline(always)]
fn least_of_few<E>(children: &[Entry<E>]) -> Option<(usize, u128)> {
    let lesser = |a: (usize, u128), b: (usize, u128)| if b.1 < a.1 { b } else { a };
    match children {
        [] => None,
        [a] => Some((0, a.key())),
        [a, b] => Some(lesser((0, a.key()), (1, b.key()))),
        [a, b, c, ..] => Some(lesser(lesser((0, a.key()), (1, b.key())), (2, c.key()))),
    }
}
