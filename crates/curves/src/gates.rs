//! Gates of IEEE 802.1Qbv: what a class sends that can only begin frames in its own windows.
//!
//! A frame begins only if its gate stays open until its end. In a window of length `w` a class with
//! a backlog waits for one lower frame `b` that had begun, if a lower gate is open before the window
//! and on. Then it sends without a pause until its first frame does not fit. That is when less than
//! its longest frame `l` is left. So a window sends at least
//!
//! ```text
//! C (w − b) − l  bits,     and  n = ⌊C (w − b) / l⌋ frames
//! ```
//!
//! A frame with at most so many bits, or with less than `n` frames, before it in the window fits. A
//! backlog begins worst when a lower frame `b'` has just begun, at the end of which no frame fits into
//! the window: it waits `b' + l / C`, then the closed time, then `b` in the next window (Zhao, Pop and
//! Craciunas 2018, *Worst-case latency analysis for IEEE 802.1Qbv time sensitive networks using
//! network calculus*, with windows and guard bands of each class). Any lower class that is open in the
//! window can have sent `b'`.
//!
//! **Steps.** The bound of a class that no higher class can disturb walks over its windows, from
//! each as the first, for each step of its arrivals. Frames arrive whole, so the straight lines of
//! the other modules would add up to a cycle.
//!
//! **Pieces.** The other analyses get the rate of a cycle, in bits, and the least latency that is valid for
//! it. Higher classes with windows at the same time take what arrives of them, late by their own
//! longest delay at most.
//!
//! A class can have a credit-based shaper as well: see [`shaped`]. Servers in a row have windows of which
//! the phase is known: see [`timetable`].

mod shaped;
pub(crate) mod timetable;
mod transmissions;

use laxity_units::{Bytes, Span};

use crate::arrival::{Arrival, picobits};
use crate::network::Server;
use crate::service::Service;

/// Gates of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gates {
    /// After which the windows begin again; not zero.
    pub cycle: Span,
    /// By level the windows with an open gate, by begin and length, none of which touch each other;
    /// a level without an entry is always open. Level [`Gates::BELOW`] is that of frames below all
    /// flows. A begin counts from an instant that all servers have in common, and is less than the cycle.
    pub open: Vec<(u8, Vec<(Span, Span)>)>,
    /// Picoseconds from the end of a transmission to the arrival at the next server, beside
    /// [`Server::propagation`]: no delay contains them. Negative if a frame arrives before the gap behind it
    /// has passed. `None` if they are not always the same.
    pub behind: Option<i64>,
}

impl Gates {
    /// The level of frames below all flows.
    pub const BELOW: u8 = u8::MAX;

    /// The windows of `level`; `None` if it is always open.
    pub(crate) fn of(&self, level: u8) -> Option<&[(Span, Span)]> {
        self.open.iter().find(|open| open.0 == level).map(|open| &open.1[..])
    }

    /// Whether `level` is open at some instant of `window`.
    fn meets(&self, level: u8, window: (Span, Span)) -> bool {
        self.of(level).is_none_or(|windows| windows.iter().any(|other| self.overlap(*other, window)))
    }

    /// Whether two levels are open at some instant together.
    pub(crate) fn together(&self, level: u8, other: u8) -> bool {
        let Some(windows) = self.of(level) else {
            return self.of(other).is_none_or(|windows| !windows.is_empty());
        };
        windows.iter().any(|window| self.meets(other, *window))
    }

    /// Whether a frame of `level` can begin before `at`, counted from a begin of the cycle, and end
    /// after it.
    fn spans(&self, level: u8, at: Span) -> bool {
        let cycle = self.cycle.as_ps();
        let into = |begin: Span| (at.as_ps() + cycle - begin.as_ps() % cycle) % cycle;
        let within = |&(begin, length): &(Span, Span)| (1..length.as_ps()).contains(&into(begin));
        self.of(level).is_none_or(|windows| windows.iter().any(within))
    }

    fn overlap(&self, (one, long): (Span, Span), (other, wide): (Span, Span)) -> bool {
        let cycle = self.cycle.as_ps();
        let from = |a: Span, b: Span| (b.as_ps() + cycle - a.as_ps() % cycle) % cycle;
        from(one, other) < long.as_ps() || from(other, one) < wide.as_ps()
    }
}

/// A class behind gates.
pub(crate) struct Class<'a> {
    pub(crate) level: u8,
    pub(crate) longest: Bytes,
    /// Levels below and their longest frames.
    pub(crate) lower: &'a [(u8, Bytes)],
    /// Traffic that higher classes with windows at the same time send from any instant on.
    pub(crate) above: Option<&'a Arrival>,
    /// The idle slope in bit/s, if the class has a shaper.
    pub(crate) slope: Option<u128>,
}

/// The service of a class.
pub(crate) struct Timed {
    /// A service for all analyses, if it has a rate.
    pub(crate) service: Option<Service>,
    /// The windows, if neither higher classes nor a shaper disturb it.
    pub(crate) steps: Option<Steps>,
}

/// The service of `class` at `server`.
pub(crate) fn class(server: &Server, gates: &Gates, class: &Class<'_>) -> Timed {
    let link = u128::from(server.rate.bits_per_sec());
    let latency = u128::from(server.latency.as_ps());
    let longest = |meets: &dyn Fn(u8) -> bool| {
        let lower = class.lower.iter().filter(|lower| meets(lower.0));
        lower.map(|lower| picobits(lower.1)).max().unwrap_or(0)
    };
    let none = Arrival::none();
    let above = class.above.unwrap_or(&none);
    let Some(windows) = gates.of(class.level) else {
        // Always open: a link with a frame below and the traffic above.
        let debt = link.saturating_mul(latency).saturating_add(longest(&|_| true));
        let service = match class.slope {
            Some(slope) => shaped::always_open(slope, (link, debt), above),
            None => Service::less(link, debt, above),
        };
        return Timed { service, steps: None };
    };
    let cycle = u128::from(gates.cycle.as_ps());
    let blocking = |window: (Span, Span)| {
        (longest(&|level| gates.spans(level, window.0)), longest(&|level| gates.meets(level, window)))
    };
    let steps = Steps::of(cycle, windows, class.longest, (link, latency), blocking);
    if let Some(slope) = class.slope {
        return Timed { service: steps.shaped(slope, above), steps: None };
    }
    let service = steps.straight(|step| step.bits);
    let service = service.and_then(|(rate, debt)| Service::less(rate, debt, above));
    Timed { service, steps: class.above.is_none().then_some(steps) }
}

/// Traffic that a window sends, counted in bits, or in frames of the longest size.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Most that can be before a frame that fits into the window, in picobits.
    fits: u128,
    /// Least that the window sends, in picobits.
    all: u128,
}

/// A window in which a class sends.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Begin of the window in the cycle.
    begin: u128,
    /// From the end of the last window to the begin of this one, and from there to its end.
    closed: u128,
    open: u128,
    /// From the end of the last window to the first frame in this one.
    before: u128,
    /// From that frame to the end of the window.
    length: u128,
    /// Longest wait in this window for a lower frame, and for the end of the window after the last
    /// frame that fits, if a backlog begins at the worst instant.
    missed: u128,
    bits: Sent,
    frames: Sent,
}

/// The windows of a class.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    link: u128,
    latency: u128,
    cycle: u128,
    /// Longest frame, in picobits.
    longest: u128,
    steps: Vec<Step>,
}

/// Traffic that has arrived by an instant: the picoseconds, picobits and frames.
pub(crate) type Stair = (u128, u128, u128);

impl Steps {
    fn of(
        cycle: u128,
        windows: &[(Span, Span)],
        longest: Bytes,
        (link, latency): (u128, u128),
        // The lower frame at the begin of a window, and at any instant of it.
        blocking: impl Fn((Span, Span)) -> (u128, u128),
    ) -> Self {
        let longest = picobits(longest);
        let time = |amount: u128| amount.div_ceil(link);
        let ps = |span: Span| u128::from(span.as_ps());
        let mut windows = windows.to_vec();
        windows.sort_unstable();
        // A window without room for one frame counts as closed.
        windows.retain(|window| ps(window.1) >= time(blocking(*window).0).saturating_add(time(longest)));
        let step = |index: usize| {
            let (begin, length) = windows[index];
            let (last, before) = windows[(index + windows.len() - 1) % windows.len()];
            let closed = (ps(begin) + 2 * cycle - (ps(last) + ps(before))) % cycle;
            let (first, any) = blocking((begin, length));
            let (open, length) = (ps(length), ps(length) - time(first));
            let (before, missed) = (closed + time(first), time(any) + time(longest));
            let fits = (length * link).saturating_sub(longest);
            let bits = Sent { fits, all: fits };
            let number = length * link / longest;
            let frames = Sent { fits: number.saturating_sub(1) * longest, all: number * longest };
            Step { begin: ps(begin), closed, open, before, length, missed, bits, frames }
        };
        Self { link, latency, cycle, longest, steps: (0..windows.len()).map(step).collect() }
    }

    /// Longest time until a frame begins that has `amount` before it, rounded up; `None` if it never
    /// does.
    fn begins(&self, amount: u128, sent: impl Fn(&Step) -> Sent) -> Option<u128> {
        if self.steps.iter().all(|step| sent(step).all == 0) && amount > 0 {
            return None;
        }
        let from = |first: usize| {
            let (mut at, mut left) = (self.latency + self.steps[first].missed, amount);
            let mut next = first;
            loop {
                next = (next + 1) % self.steps.len();
                let step = &self.steps[next];
                at += step.before;
                if left <= sent(step).fits {
                    return at + left.div_ceil(self.link);
                }
                at += step.length;
                left = left.saturating_sub(sent(step).all);
            }
        };
        (0..self.steps.len()).map(from).max()
    }

    /// A rate in bit/s and a debt in picobits such that the class sends `rate · t − debt` at least.
    fn straight(&self, sent: impl Fn(&Step) -> Sent) -> Option<(u128, u128)> {
        let all: u128 = self.steps.iter().map(|step| sent(step).all).sum();
        let rate = all / self.cycle;
        let debt = |first: usize| {
            let corners = self.corners(first, (self.steps[first].missed, 0), &sent);
            corners.iter().map(|(at, served)| (rate * at).saturating_sub(*served)).max().unwrap_or(0)
        };
        let debt = (0..self.steps.len()).map(debt).max()?;
        (rate > 0).then_some((rate, debt))
    }

    /// The begins of frames in the windows of a cycle behind `first`, and what the windows before sent.
    /// Window `first` ends after a time in which so much was sent.
    fn corners(
        &self,
        first: usize,
        (time, sent): (u128, u128),
        of: impl Fn(&Step) -> Sent,
    ) -> Vec<(u128, u128)> {
        let (mut at, mut served, mut corners) = (self.latency + time, sent, Vec::new());
        for number in 1..=self.steps.len() {
            let step = &self.steps[(first + number) % self.steps.len()];
            corners.push((at + step.before, served));
            (at, served) = (at + step.before + step.length, served + of(step).all);
        }
        corners
    }

    /// Longest busy period, rounded up, of arrivals in which each frame counts as the longest; `None`
    /// if there is no end.
    pub(crate) fn busy(&self, padded: &Arrival) -> Option<u128> {
        let (rate, debt) = self.straight(|step| step.frames)?;
        Service::one(rate, debt).busy(padded)
    }

    /// Longest time until a frame of `own` begins, for arrivals of whole frames by `stairs`. A frame of
    /// up to `most` begins as much sooner as it is longer.
    ///
    /// By bits that is so, since less is before it. A count of frames says nothing of its length, so
    /// the difference is added.
    pub(crate) fn start(&self, stairs: &[Stair], own: Bytes, most: Bytes) -> Option<Span> {
        let longer = picobits(most).saturating_sub(picobits(own)).div_ceil(self.link);
        let own = picobits(own);
        let wait = |&(at, bits, frames): &Stair| {
            let by_bits = self.begins(bits.saturating_sub(own), |step| step.bits);
            let before = frames.saturating_sub(1).saturating_mul(self.longest);
            let by_frames = self.begins(before, |step| step.frames).map(|begins| begins + longer);
            let least = by_bits.into_iter().chain(by_frames).min()?;
            Some(least.saturating_sub(at))
        };
        let longest = stairs.iter().map(wait).try_fold(0, |longest, wait| Some(longest.max(wait?)))?;
        u64::try_from(longest).ok().map(Span::from_ps)
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Rate;

    use super::*;

    const US: u128 = 1_000_000;
    const BYTE: u128 = 8_000_000_000_000;

    pub(super) fn server(windows: &[(u8, &[(u64, u64)])]) -> (Server, Gates) {
        let rate = Rate::from_bits_per_sec(100_000_000);
        let span = |&(begin, length): &(u64, u64)| (Span::from_us(begin), Span::from_us(length));
        let open = windows.iter().map(|(level, list)| (*level, list.iter().map(span).collect())).collect();
        let gates = Gates { cycle: Span::from_us(1000), open, behind: None };
        (Server { gates: Some(gates.clone()), ..Server::by_level(rate) }, gates)
    }

    fn timed((server, gates): &(Server, Gates), longest: u64, lower: &[(u8, Bytes)]) -> Timed {
        class(
            server,
            gates,
            &Class { level: 0, longest: Bytes::new(longest), lower, above: None, slope: None },
        )
    }

    /// A window of 100 us each 1000 us, frames of 500 B (40 us): two fit. A frame that arrives when no
    /// other fits waits 40 us and 900 us.
    #[test]
    fn a_frame_waits_for_the_next_window() {
        let alone = timed(&server(&[(0, &[(200, 100)])]), 500, &[]);
        let steps = alone.steps.expect("windows");
        let begins = |frames: u128| steps.begins(frames * 500 * BYTE, |step| step.frames).map(|ps| ps / US);
        assert_eq!([0, 1, 2, 3, 4].map(begins), [940, 980, 1940, 1980, 2940].map(Some));
        // Two frames a cycle, after 940 us; in bits, a window sends 60 us at least.
        let straight =
            steps.straight(|step| step.frames).map(|(rate, debt)| (rate, debt.div_ceil(rate) / US));
        assert_eq!(straight, Some((8_000_000, 940)));
        let piece = alone.service.expect("a rate").pieces()[0];
        assert_eq!((piece.rate, piece.debt.div_ceil(piece.rate) / US), (6_000_000, 940));
        let stairs = [(0, 1000 * BYTE, 2), (700 * US, 2000 * BYTE, 4)];
        assert_eq!(steps.start(&stairs, Bytes::new(500), Bytes::new(500)), Some(Span::from_us(1280)));
    }

    /// A lower class that is open before the window and in it can block it once at its begin: one frame
    /// of 250 B (20 us), and a frame less if that leaves less than 80 us. One that is open in the
    /// window can block when the backlog begins.
    #[test]
    fn a_lower_class_blocks_where_its_window_overlaps() {
        let gates = |lower: (u64, u64)| server(&[(0, &[(200, 100)]), (Gates::BELOW, &[lower])]);
        let begins = |gates, size| {
            let lower = [(Gates::BELOW, Bytes::new(size))];
            let steps = timed(&gates, 500, &lower).steps.expect("windows");
            let begins = |frames: u128| steps.begins(frames * 500 * BYTE, |step| step.frames);
            [0, 1, 2].map(|frames| begins(frames).map_or(0, |ps| ps / US))
        };
        assert_eq!(begins(gates((300, 900)), 250), [940, 980, 1940], "it ends before");
        assert_eq!(begins(gates((0, 201)), 250), [980, 1020, 1980], "it can have begun before");
        assert_eq!(begins(gates((0, 201)), 300), [988, 1988, 2988]);
        assert_eq!(begins(gates((200, 100)), 250), [960, 1000, 1960], "it opens with the window");
        let none = server(&[(0, &[(200, 100)]), (Gates::BELOW, &[(0, 1000)])]);
        let closed = timed(&none, 500, &[(Gates::BELOW, Bytes::new(751))]);
        assert!(closed.service.is_none(), "no frame fits");
        assert_eq!(
            closed.steps.expect("windows").start(&[(0, 500 * BYTE, 1)], Bytes::new(500), Bytes::new(500)),
            None
        );
    }

    /// Frames of up to 500 B: a window of 100 us sends at least 60 us of them, and one of 300 us 260 us.
    #[test]
    fn windows_of_unlike_frames_lose_a_frame_at_their_end() {
        let two = timed(&server(&[(0, &[(200, 100), (600, 300)])]), 500, &[]);
        let steps = two.steps.expect("windows");
        let begins = |us: u128| steps.begins(us * US * 100_000_000, |step| step.bits).map_or(0, |ps| ps / US);
        // From the end of the second window: 40 + 300 us, then 60 us, 300 us closed, 260 us, 300 us.
        assert_eq!([0, 60, 61, 320].map(begins), [340, 400, 741, 1000]);
        assert_eq!(begins(321), 1341);
    }
}
