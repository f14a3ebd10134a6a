//! The event calendar: what is to happen, in order.
//!
//! # Order
//!
//! Events are ordered by their time and, at the same time, **first scheduled, first run**. A calendar that
//! leaves same-time order open makes a run depend on the shape of its heap: adding an unrelated component
//! then changes the results of all others. An event scheduled for `now` runs after all events of `now` that
//! were scheduled before it, and before time moves.
//!
//! # Shape
//!
//! A heap of `(time, sequence, event)` compares two fields with two branches, and `BinaryHeap` pays for a
//! pop and a push where a model nearly always does one in place of the other. Four measures answer this:
//!
//! * *Compact key.* Time and sequence are one `u128`, the time above; one comparison settles both time and
//!   same-time order. The sequence never ties, so the order is total.
//! * *Four children.* The heap is half as deep as a binary one, the smallest of four neighbours is found
//!   without a branch, and events lie beside their keys, by value.
//! * *The root waits.* [`Calendar::pop`] leaves a hole at the root. A handler that schedules before it
//!   returns, as nearly all do, fills the hole: one descent in place of a pop and a push. What finds the
//!   hole still there fills it with the last entry, as an ordinary heap would have done at once.
//! * *Only what is near is in the heap.* Beyond two thousand events, those that are far off lie in buckets
//!   ([`far`]) and come into the heap when it has run out: a heap of a million is slow for the memory it walks through, not
//!   for its comparisons.
//!
//! Events are therefore [`Copy`]: a plain value says what happens to whom, and what is long (a frame's bytes)
//! stays with its owner and is named by a number. An event should not be longer than a few words, since the
//! heap moves it. Two other shapes were left. Keys alone in the heap, each naming a slot where its event lies still, were
//! measured to be a third slower with two or three events, which is where models live. Calendar queues want tuning to the
//! spread of times, which digits do not.
//!
//! # Withdrawing an event
//!
//! There is no cancellation, because a heap finds nothing but its root. A component that may change its
//! mind carries a generation: it schedules the event with the generation it has, adds one when the event no
//! longer counts, and ignores an event whose generation is not its own:
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

/// How many children an entry has.
const CHILDREN: usize = 4;
/// With more entries than this in the heap, it is worth parting what is far off from what is near.
const CROWD: usize = 2048;

/// An event and its place in the order.
///
/// Two words rather than one `u128`, which would be aligned to sixteen bytes and make a small event cost as
/// much as a long one.
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

    /// Word by word: copied whole, an entry would be read in pieces wider than those in which it was written
    /// just before, for which a processor waits.
    #[inline(always)]
    fn set(&mut self, key: u128, event: E) {
        self.time = Time::from_ps((key >> 64) as u64);
        self.sequence = key as u64;
        self.event = event;
    }
}

/// Events by the time at which they happen; at the same time, in the order in which they were scheduled.
///
/// The module's header gives the order, the shape and the pattern for events that are withdrawn.
#[derive(Debug, Clone)]
pub struct Calendar<E> {
    now: Time,
    /// In heap order by key; the root, if it is a hole, counts for nothing.
    heap: Vec<Entry<E>>,
    /// Whether the root is an event already popped.
    hole: bool,
    sequence: u64,
    /// The last time whose events are in the heap; what is later is far.
    near: Time,
    far: Far<E>,
    /// Such have come into the heap and nobody has asked.
    come_near: bool,
    /// How many entries in the heap are a crowd.
    crowd: usize,
    /// Events that have happened, popped or leapt to.
    happened: u64,
    /// A world may go on by itself before that time, until so many have happened; [`Time::ZERO`] for never.
    free: (Time, u64),
    /// Before this it may go on, and nothing is to come: a bound from below, so that who goes on several times looks at what is to come
    /// once. It is never past the next event, so when that has happened it counts for nothing.
    quiet: Time,
}

impl<E: Copy> Default for Calendar<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Calendar<E> {
    /// An empty calendar at the start of the run.
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty calendar that holds `events` before it grows, of those that are near.
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

    /// The time of the event popped last, or of the last [`Calendar::advance`] if that is later.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many events are to come.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole) + self.far.len()
    }

    /// Whether nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets `event` happen at `at`, after everything already scheduled for that time.
    ///
    /// Panics if `at` is before now: a model that schedules into its past is broken.
    // Always, for an event that is passed on in memory is read whole right after it was written in parts, and waited for.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: E) {
        if at < self.now {
            self.refuse(at);
        }
        let key = u128::from(at.as_ps()) << 64 | u128::from(self.sequence);
        self.sequence += 1;
        self.quiet = self.quiet.min(at);
        // One event in place of another among few, as in most worlds, is decided on the spot.
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

    /// Puts `event` where its key belongs.
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

    /// Lets `event` happen `span` from now; panics if that time cannot be named.
    #[inline]
    pub fn schedule_after(&mut self, span: Span, event: E) {
        self.schedule(self.now + span, event);
    }

    /// When the next event happens.
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

    /// Takes the event that [`due`](Self::due) has just named.
    #[inline(always)]
    pub(crate) fn take_due(&mut self) -> (Time, E) {
        let first = &self.heap[0];
        self.hole = true;
        self.happened += 1;
        self.now = first.time;
        (self.now, first.event)
    }

    /// Moves now to `at`, as if an event had been scheduled for then and were the next to happen, if it would be: nothing else happens until and at
    /// `at`, and the driver lets a world go on without it. Whether it did; if not, nothing has changed.
    ///
    /// A component that is called, and wants to be called again before anything else happens, need not be told so by way of the heap. For a world
    /// that calls it here there is one event more, as there would have been.
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

    /// Looks for how long a world may go on by itself and nothing is to come; answers whether that is longer than until `at`.
    #[inline(never)]
    fn is_quiet_at(&mut self, at: Time) -> bool {
        let next = match (self.hole, self.heap.get(1..=CHILDREN)) {
            (false, _) => self.heap.first().map(|entry| entry.time),
            (true, Some([a, b, c, d])) => Some(a.time.min(b.time).min(c.time.min(d.time))),
            (true, _) => self.heap.iter().skip(1).map(|entry| entry.time).min(),
        };
        // What is far is later than what is near.
        let far = self.near.saturating_add(Span::from_ps(1));
        self.quiet = next.unwrap_or(Time::MAX).min(far).min(self.free.0);
        at < self.quiet
    }

    /// A world may go on by itself before that time, until so many events have [happened](Self::happened).
    pub(crate) fn set_free(&mut self, before: Time, most: u64) {
        self.free = (before, most);
        self.quiet = Time::ZERO;
    }

    /// How many events have happened.
    #[inline(always)]
    pub(crate) fn happened(&self) -> u64 {
        self.happened
    }

    /// Whether events have become near, together, since this was last asked.
    #[inline(always)]
    pub(crate) fn have_come_near(&mut self) -> bool {
        self.come_near && std::mem::take(&mut self.come_near)
    }

    /// Those that are near, in the order of a heap.
    pub(crate) fn near(&self) -> impl Iterator<Item = &E> + Clone {
        self.heap.iter().map(|entry| &entry.event)
    }

    /// [`Calendar::next_time`] for a driver, which pops next and so may fill the hole.
    #[inline(always)]
    pub(crate) fn due(&mut self) -> Option<Time> {
        if self.hole {
            self.fill_hole();
        }
        self.heap.first().map(|entry| entry.time)
    }

    /// Moves now to `to` without an event, as when an outside input arrives or a run ends between events.
    ///
    /// Panics if `to` is before now or passes an event.
    pub fn advance(&mut self, to: Time) {
        assert!(to >= self.now, "now, {}, is moved back to {to}", self.now);
        assert!(self.next_time().is_none_or(|next| next >= to), "now is moved to {to}, past an event");
        self.now = to;
    }

    /// Gives the hole at the root to the last entry, or to what comes first of what is far.
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

    /// Takes the first of what is far into the heap, which is empty.
    fn approach(&mut self) {
        self.near = self.far.take_first(&mut self.heap);
        make_heap(&mut self.heap);
        self.crowd = CROWD.max(2 * self.heap.len());
        self.come_near = true;
    }

    /// Parts what is far off from what is near, if it can.
    #[cold]
    fn part(&mut self) {
        if self.far.is_empty() {
            self.far.begin(self.now);
        }
        // What is far begins at a time to which now has to come first. Until then all stay in the heap.
        if self.now >= self.far.base() {
            let mut heap = std::mem::take(&mut self.heap);
            heap.drain(..).for_each(|entry| self.far.push(entry));
            self.heap = heap;
            self.approach();
        }
    }

    /// Puts `entry` in a new last place and lets it rise from there.
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

/// The same as [`sink`] where the root and its children are all there is.
///
/// Which of a few events comes first is what nobody can guess, a processor's predictor included, and whoever handles it has to branch
/// on what it is. So nothing branches on it here: both places are written, even where they are one.
#[inline(always)]
fn sink_among_few<E: Copy>(heap: &mut [Entry<E>], key: u128, event: E) {
    if let [root, other] = heap {
        // Two, the fewest that are in any order, change places or do not.
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

/// Puts entries in heap order that are in none: from the last that has children to the root, each sinks into the heaps below it (Floyd 1964).
fn make_heap<E: Copy>(heap: &mut [Entry<E>]) {
    for place in (0..heap.len().saturating_sub(1).div_ceil(CHILDREN)).rev() {
        let entry = heap[place];
        sink(heap, place, entry.key(), entry.event);
    }
}

/// Puts `event` at a `place` of `heap`, instead of what is there, and lets it sink.
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
    // The last family may be smaller, and its children have none: with few events to come, as most worlds
    // have, this is all there is.
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

/// Where in `children`, of which there are four, the smallest key is, and that key; nothing branches.
#[inline(always)]
fn least_of_four<E>(children: &[Entry<E>]) -> (usize, u128) {
    let [a, b, c, d] = [children[0].key(), children[1].key(), children[2].key(), children[3].key()];
    let low = if b < a { (1, b) } else { (0, a) };
    let high = if d < c { (3, d) } else { (2, c) };
    if high.1 < low.1 { high } else { low }
}

/// Where in `children` the smallest key is, and that key.
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
