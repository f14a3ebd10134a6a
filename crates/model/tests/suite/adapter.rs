//! Any adapter under any load and every fault: no packet is lost silently or answered twice, and no
//! adapter hangs.
//!
//! Random descriptions, packets both ways, faults, resets, slow hosts, and shared media. The
//! purpose of an adapter differs with its description; its contract with the host does not, and is
//! checked here.

mod buses;
mod cases;
mod cores;
mod nodes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cases::{Dice, contract, demotes, description, keeps_order, longest_way, packet};
use laxity_engine::Seed;
use laxity_model::adapter::{
    Adapter, AdapterBreakdown, AdapterOutput, AdapterResponse, Description, Loss, Pipeline, StageReport,
};
use laxity_model::network::{
    Background, Csma, CsmaParameters, Medium, PointToPoint, TokenRing, TokenRingParameters,
};
use laxity_model::told::Told;
use laxity_qos::channel::{ChannelId, Packet};
use laxity_qos::discipline::Class;
use laxity_units::{Bytes, Rate, Span, Time};

/// A medium of any kind, and for how long it may keep a frame waiting if others take all that they may.
pub(crate) fn medium(dice: &mut Dice, seed: u64) -> (Medium, Span) {
    match dice.below(3) {
        0 => (Medium::PointToPoint(PointToPoint::new(1)), Span::ZERO),
        1 => {
            let holding = Span::from_us(20 + dice.below(200));
            let rotation = holding * (1 + dice.below(5)) + Span::from_us(5);
            let ring = TokenRingParameters {
                rotation,
                holding: vec![holding],
                latency: Span::from_us(dice.below(5)),
                handling: Span::from_us(dice.below(5)),
            };
            // The longest frame is 140 us and may overrun its holding; the debt keeps the token
            // away for that many turns.
            let longest = rotation * (2 + 200 / (holding.as_ps() / 1_000_000));
            (Medium::TokenRing(TokenRing::new(ring).expect("valid")), longest)
        }
        _ => {
            let others = dice.one_in(2).then(|| Background {
                stations: 1 + dice.below(3) as u32,
                frame: Bytes::new(64 + dice.below(1000)),
                load: Rate::from_bits_per_sec(30_000_000),
            });
            let parameters = CsmaParameters {
                rate: Rate::from_bits_per_sec(100_000_000),
                stations: 1,
                propagation: Span::from_ns(dice.below(1000)),
                others,
            };
            let random = Seed::new(seed).stream("medium");
            // Sixteen collisions, each with its wait, and every frame of the others between.
            (Medium::Csma(Csma::new(parameters, random).expect("valid")), Span::from_ms(60))
        }
    }
}

/// An input to an adapter.
#[derive(Debug, Clone, Copy)]
enum Act {
    Hand(Packet),
    Frame(Packet),
    Answer(Packet),
    Read(usize),
    Break(AdapterBreakdown, bool),
    Copy(Span),
    Reset,
    Look,
}

/// Outputs of an adapter with their times.
type Log = Vec<(Time, AdapterOutput)>;

struct Bench {
    adapter: Told<Adapter, AdapterOutput>,
    medium: Medium,
    acts: BTreeMap<(Time, u64), Act>,
    scheduled: u64,
    backlog: VecDeque<Packet>,
    taken: Vec<Packet>,
    log: Log,
    dice: Dice,
    answer: Span,
    resets: u64,
    /// Statistics of stages at intermediate times.
    looks: Vec<(Time, Vec<StageReport>)>,
    /// Per response queue: when the host reads what was written last, and how much it has not.
    reads: Vec<Time>,
    unread: Vec<usize>,
}

impl Bench {
    fn schedule(&mut self, at: Time, act: Act) {
        self.acts.insert((at, self.scheduled), act);
        self.scheduled += 1;
    }

    fn act(&mut self, now: Time, act: Act) {
        match act {
            Act::Hand(packet) => self.backlog.push_back(packet),
            Act::Frame(packet) => self.adapter.receive(now, &packet),
            Act::Answer(packet) => self.adapter.proceed(now, &packet),
            Act::Read(queue) => {
                self.unread[queue] -= 1;
                self.adapter.has_read(now, queue);
            }
            Act::Break(breakdown, broken) => self.adapter.break_down(now, breakdown, broken),
            Act::Copy(span) => self.adapter.copies(now, span),
            Act::Reset => {
                self.resets += 1;
                self.adapter.reset(now);
            }
            Act::Look => self.looks.push((now, self.adapter.stages(now))),
        }
    }

    /// Hands over what there is room for, and carries everything between adapter and medium.
    fn settle(&mut self, now: Time) {
        loop {
            let mut any = false;
            while let Some(packet) = self.backlog.front().copied() {
                if !self.adapter.transmit(now, &packet) {
                    break;
                }
                self.backlog.pop_front();
                self.taken.push(packet);
                any = true;
            }
            while let Some(output) = self.adapter.poll_output() {
                any = true;
                if let AdapterOutput::Response(response) = &output {
                    let interface = self.adapter.interface().expect("it is described");
                    let slots: Vec<_> = interface.all_responses().map(|queue| queue.slots).collect();
                    let queue =
                        interface.response_queue(response, &response.packet().tag, response.packet().channel);
                    let late = self.dice.below(self.answer.as_ps().max(1));
                    // In the order in which they were written.
                    let at = (now + Span::from_ps(late)).max(self.reads[queue]);
                    self.reads[queue] = at;
                    self.unread[queue] += 1;
                    // The driver gets packets returned by a reset at once.
                    let most = slots[queue].map_or(usize::MAX, |slots| slots as usize);
                    assert!(self.unread[queue] <= most || self.resets > 0, "no more than there are places");
                    self.schedule(at, Act::Read(queue));
                }
                match output {
                    AdapterOutput::Request => self.medium.request(now, 0),
                    AdapterOutput::Withdraw => self.medium.withdraw(now, 0),
                    AdapterOutput::Frame { more, .. } if self.adapter.asks_for_medium() => {
                        self.medium.sent(now, 0, more);
                    }
                    AdapterOutput::Response(AdapterResponse::Handshake(packet)) => {
                        let late = self.dice.below(self.answer.as_ps().max(1));
                        self.schedule(now + Span::from_ps(late), Act::Answer(packet));
                    }
                    _ => {}
                }
                self.log.push((now, output));
            }
            while let Some(output) = self.medium.poll_output() {
                any = true;
                self.adapter.medium(now, output.into());
            }
            if !any {
                return;
            }
        }
    }

    /// Runs until no event is left, and returns that time; media run for ever, so they do not
    /// count.
    fn run(&mut self, no_later_than: impl Fn(&Bench) -> Time) -> Time {
        let mut now = Time::ZERO;
        loop {
            self.settle(now);
            let act = self.acts.keys().next().map(|(at, _)| *at);
            let busy = act.is_some() || self.adapter.held() > 0 || !self.backlog.is_empty();
            let medium = self.medium.next_deadline().filter(|_| busy);
            let adapter = self.adapter.next_deadline();
            let Some(next) = [act, adapter, medium].into_iter().flatten().min() else { return now };
            assert!(next >= now, "nothing asks to be called in the past");
            now = next;
            assert!(now <= no_later_than(self), "it hangs: {} held at {now}", self.adapter.held());
            if adapter == Some(now) {
                self.adapter.timer(now);
            } else if medium == Some(now) {
                self.medium.timer(now);
            } else if let Some((_, act)) = self.acts.pop_first() {
                self.act(now, act);
            }
        }
    }
}

/// A case run to its end.
struct Outcome {
    description: Description,
    taken: Vec<Packet>,
    received: usize,
    log: Log,
    looks: Vec<(Time, Vec<StageReport>)>,
    resets: u64,
}

fn run(seed: u64, faults: bool) -> Outcome {
    run_with(seed, faults, |description, _| description, false)
}

/// The same with what `change` makes of the description, and phase by phase if it `steps`.
fn run_with(
    seed: u64,
    faults: bool,
    change: impl FnOnce(Description, &mut Dice) -> Description,
    steps: bool,
) -> Outcome {
    let mut dice = Dice::new(seed, "adapter");
    let description = description(&mut dice);
    let description = change(description, &mut Dice::new(seed, "change"));
    let (medium, access) = medium(&mut dice, seed);
    let answer = Span::from_us(1 + dice.below(100));
    let mut adapter = Told::new(Adapter::Pipeline(Box::new(Pipeline::new(description.clone()))));
    adapter.record();
    if steps {
        adapter.step_through();
    }
    for channel in 0..2 {
        adapter.establish(ChannelId(channel), &contract(channel));
    }
    adapter.pad_frames_to(medium.shortest_frame());
    let padding = medium.shortest_frame();
    let mut bench = Bench {
        adapter,
        medium,
        acts: BTreeMap::new(),
        scheduled: 0,
        backlog: VecDeque::new(),
        taken: Vec::new(),
        log: Vec::new(),
        dice: Dice::new(seed, "answers"),
        answer,
        resets: 0,
        looks: Vec::new(),
        reads: vec![Time::ZERO; description.interface.all_responses().count()],
        unread: vec![0; description.interface.all_responses().count()],
    };
    let within = 200 + dice.below(6000);
    let (mut handed, mut received) = (0, 0);
    for number in 0..20 + dice.below(60) {
        let at = Time::ZERO + dice.us(within);
        let frame = dice.one_in(3);
        let packet = packet(&mut dice, number, at);
        received += usize::from(frame);
        handed += usize::from(!frame);
        bench.schedule(at, if frame { Act::Frame(packet) } else { Act::Hand(packet) });
    }
    let mut last = Time::ZERO + Span::from_us(within);
    let mut looks = Dice::new(seed, "looks");
    for _ in 0..20 {
        let at = Time::ZERO + looks.us(within);
        bench.schedule(at, Act::Look);
    }
    for _ in 0..dice.below(8) {
        let at = Time::ZERO + dice.us(within);
        let span = dice.us(200);
        last += span;
        bench.schedule(at, Act::Copy(span));
    }
    for _ in 0..if faults { dice.below(6) } else { 0 } {
        let at = Time::ZERO + dice.us(within);
        let until = at + dice.us(3000);
        last = last.max(until);
        let breakdown = match dice.below(4) {
            0 => {
                bench.schedule(at, Act::Reset);
                continue;
            }
            1 => AdapterBreakdown::FullQueues,
            2 => AdapterBreakdown::Stop,
            _ => AdapterBreakdown::Stall(dice.below(description.resources.len() as u64) as usize),
        };
        bench.schedule(at, Act::Break(breakdown, true));
        bench.schedule(until, Act::Break(breakdown, false));
    }
    // After the last fault at least one packet is always under way, unless the medium is with others.
    let each = longest_way(&description, answer) + padding + access;
    let end = last + each * (handed + received) as u64 + Span::from_ms(1);
    bench.run(|_| end);
    assert_eq!(bench.adapter.held(), 0, "nothing is forgotten");
    assert_eq!(bench.adapter.buffers_in_use(), 0, "every buffer is given back");
    assert_eq!(bench.taken.len(), handed);
    Outcome {
        description,
        taken: bench.taken,
        received,
        log: bench.log,
        looks: bench.looks,
        resets: bench.resets,
    }
}

/// Every accepted packet is answered once, every arrived frame passed on or discarded once, and a
/// frame leaves exactly for each packet that is transmitted or unconfirmed.
fn check_accounts(seed: u64, outcome: &Outcome) {
    let mut transmitted = BTreeSet::new();
    let (mut failed, mut unconfirmed, mut left) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut received, mut discarded) = (0, 0);
    for (at, output) in &outcome.log {
        match output {
            AdapterOutput::Response(AdapterResponse::Transmitted(packet)) => {
                assert_eq!(
                    packet.tag.class == Class::RealTime,
                    packet.channel.0 < 2,
                    "{seed}: {packet:?} is what it was"
                );
                assert!(transmitted.insert(packet.message), "{seed}: {packet:?} transmitted twice");
            }
            AdapterOutput::Response(AdapterResponse::Failed(packet, loss)) => {
                assert_eq!(
                    packet.tag.class == Class::RealTime,
                    packet.channel.0 < 2,
                    "{seed}: {packet:?} is what it was"
                );
                let set = if *loss == Loss::Unconfirmed { &mut unconfirmed } else { &mut failed };
                assert!(set.insert(packet.message), "{seed}: {packet:?} failed twice");
                assert!(*loss != Loss::Reset || outcome.resets > 0, "{seed}: nobody has reset it");
            }
            AdapterOutput::Response(AdapterResponse::Received(_)) => received += 1,
            AdapterOutput::Discarded(..) => discarded += 1,
            AdapterOutput::Frame { packet, .. } => {
                assert!(left.insert(packet.message), "{seed}: {packet:?} left twice");
            }
            AdapterOutput::Passed(passage) => {
                // Of a packet that is alone one hears later.
                let ordered = passage.joined <= passage.began && passage.began <= passage.ended;
                assert!(ordered && passage.ended <= *at, "{seed}: {passage:?} at {at}");
            }
            _ => {}
        }
    }
    let answered: Vec<u64> = transmitted.iter().chain(&failed).chain(&unconfirmed).copied().collect();
    let distinct: BTreeSet<u64> = answered.iter().copied().collect();
    assert_eq!(answered.len(), distinct.len(), "{seed}: a packet is transmitted or failed, not both");
    assert_eq!(distinct, outcome.taken.iter().map(|packet| packet.message).collect(), "{seed}");
    assert_eq!(received + discarded, outcome.received, "{seed}: frames from outside");
    assert_eq!(left, transmitted.union(&unconfirmed).copied().collect(), "{seed}: frames that left");
    assert!(outcome.log.is_sorted_by_key(|(at, _)| *at), "{seed}: time goes forward");
}

#[test]
fn every_packet_is_accounted_for_whatever_breaks() {
    let mut tally = BTreeMap::<&str, u64>::new();
    for seed in 0..4000 {
        let outcome = run(seed, true);
        check_accounts(seed, &outcome);
        for (_, output) in &outcome.log {
            let what = match output {
                AdapterOutput::Response(AdapterResponse::Transmitted(_)) => "transmitted",
                AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Overload)) => "overload",
                AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Medium)) => "medium",
                AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Reset)) => "reset",
                AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Unconfirmed)) => "unconfirmed",
                AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Contract)) => "exceeding",
                AdapterOutput::Response(AdapterResponse::Failed(_, Loss::Late)) => "late",
                AdapterOutput::Discarded(_, Loss::Contract) => "exceeding as it came",
                AdapterOutput::Discarded(_, Loss::Late) => "late as it came",
                AdapterOutput::Frame { packet, .. }
                    if packet.tag.class == Class::BestEffort && packet.channel.0 < 2 =>
                {
                    "demoted"
                }
                AdapterOutput::Response(AdapterResponse::Received(_)) => "received",
                AdapterOutput::Discarded(..) => "discarded",
                AdapterOutput::Withdraw => "withdrawn",
                _ => continue,
            };
            *tally.entry(what).or_default() += 1;
        }
    }
    // A test that never meets its subject would prove no property.
    for what in [
        "transmitted",
        "overload",
        "reset",
        "unconfirmed",
        "received",
        "discarded",
        "withdrawn",
        "exceeding",
        "late",
        "exceeding as it came",
        "late as it came",
        "demoted",
    ] {
        assert!(tally.get(what).is_some_and(|n| *n > 100), "{what}: {tally:?}");
    }
}

#[test]
fn the_same_case_gives_the_same_bits() {
    for seed in 0..300 {
        assert_eq!(run(seed, true).log, run(seed, true).log, "{seed}");
    }
}

#[test]
fn a_channel_keeps_its_order_where_every_queue_does() {
    let mut seen = 0;
    for seed in 0..8000 {
        let outcome = run(seed, false);
        if demotes(&outcome.description)
            || !keeps_order(&outcome.description.transmit, &outcome.description.transmit_buffers)
        {
            continue;
        }
        seen += 1;
        for channel in 0..4 {
            let of_channel = |packet: &&Packet| packet.channel.0 == channel;
            let left: Vec<u64> = outcome
                .log
                .iter()
                .filter_map(|(_, output)| match output {
                    AdapterOutput::Frame { packet, .. } => Some(packet),
                    _ => None,
                })
                .filter(of_channel)
                .map(|packet| packet.message)
                .collect();
            let went: BTreeSet<u64> = left.iter().copied().collect();
            let taken: Vec<u64> = outcome.taken.iter().filter(of_channel).map(|p| p.message).collect();
            let taken: Vec<u64> = taken.into_iter().filter(|message| went.contains(message)).collect();
            assert_eq!(left, taken, "{seed}: channel {channel}");
        }
    }
    assert!(seen > 150, "only {seen} cases keep order");
}

/// Whether a packet that is alone is carried through its stages at once or goes phase by phase,
/// everything happens at the same times and every look at the stages finds the same; of passages
/// one hears later, and of the same.
#[test]
fn a_packet_that_is_alone_is_where_it_would_be_step_by_step() {
    let (mut later, mut interrupted) = (0, 0);
    for seed in 0..4000 {
        let outcome = |steps| run_with(seed, seed % 2 == 0, cases::plain, steps);
        let (at_once, steps) = (outcome(false), outcome(true));
        let of = |log: &Log, passages: bool| -> Log {
            let what =
                log.iter().filter(|(_, output)| matches!(output, AdapterOutput::Passed(_)) == passages);
            what.cloned().collect()
        };
        assert_eq!(of(&at_once.log, false), of(&steps.log, false), "{seed}: {:?}", steps.description);
        let passages = |log: &Log| -> Vec<String> {
            let mut all: Vec<String> =
                of(log, true).iter().map(|(_, passage)| format!("{passage:?}")).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(passages(&at_once.log), passages(&steps.log), "{seed}: {:?}", steps.description);
        assert_eq!(at_once.looks, steps.looks, "{seed}: {:?}", steps.description);
        let is_later = |(at, output): &&(Time, AdapterOutput)| matches!(output, AdapterOutput::Passed(p) if p.ended < *at);
        let told = at_once.log.iter().filter(is_later).count();
        later += told;
        interrupted += usize::from(told > 0 && told < at_once.taken.len());
    }
    assert!(later > 10_000 && interrupted > 500, "{later} told later, {interrupted} of both kinds");
}
