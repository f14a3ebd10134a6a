//! A host that hands packets over ahead of their launch times.
//!
//! # The problem
//!
//! A packet leaves a host when the CPU has made it, so the instant on the link varies with all work
//! on the CPU. A launch time takes this variation away: the adapter holds a packet of real time until
//! the logical arrival of its message plus an offset `O`, the same for all packets. The bound is
//! then in two parts that do not depend on each other. The CPU has to be done by the launch time.
//! From then on, a message waits for the link only.
//!
//! # The CPU
//!
//! The CPU hands each packet over as it is made, which is the first phase of [`super::handed`].
//! Let `ℓ` be the logical arrival of a message. The message is all with the adapter by `ℓ + R_j`.
//! The demand test ([`super::demand`]) proves
//!
//! ```text
//! R_j ≤ O                                                                          (1)
//! ```
//!
//! for EDF by the deadlines `ℓ + O`, so the handlers go by launch times. By (1) every packet is handed
//! over by its launch time, and none is lost. [`super::handed`] counts completions by their distance on
//! the link, or by the packets that the adapter has. Neither depends on when the adapter begins a packet.
//!
//! # The link
//!
//! The adapter sends packets in the order of their launch times, and any of them before best effort.
//! Let `C_j` be the time on the link of all packets of a message of `j`, and `B` that of the longest
//! packet of best effort. Let `x = ℓ + O` be the launch time of message `m`, and `f` the end of its
//! last packet. Let `s ≤ x` be the last instant at which no packet with a launch time before `s` is
//! left. At all instants in `(s, x)` a packet with an earlier launch time is left, and by (1) it is
//! with the adapter; from `x` on, `m` is. So from `s` to `f` the link is never idle, and begins only
//! packets with launch times in `[s, x]`. A packet of best effort that began before may go on, for `B`.
//!
//! Launch times of a channel are `I_j` apart, as its logical arrivals are. So with `δ = x − s`
//!
//! ```text
//! f − s ≤ B + Σ_j (1 + ⌊δ/I_j⌋) C_j,
//! f − x ≤ B + Σ_j C_j + Σ_j ⌊δ/I_j⌋ C_j − δ ≤ B + Σ_j C_j + (U − 1) δ,   U = Σ_j C_j/I_j.
//! ```
//!
//! If `U ≤ 1` the last term is not positive, so a message of any channel is through within
//!
//! ```text
//! T = O + B + Σ_j C_j                                                              (2)
//! ```
//!
//! of its logical arrival, and no sooner than `O + C` for its own packets, `C`. The bound is met: let
//! the longest packet of best effort begin just before `x`, and all channels have a message then.
//!
//! # Room
//!
//! A packet has its buffer until it is through, by `ℓ + T ≤ ℓ + d`. So there have to be buffers for
//! all messages that are under way in `d` ([`super::buffers`]).

use std::collections::BTreeMap;

use laxity_units::Span;

use super::buffers;
use super::decision::{
    AdmissionId, AdmissionRefusal, Bound, Claimant, Decision, Deficit, Impossible, Reason, Scarce,
};
use super::environment::{Environment, Request, ResourceModel};
use super::rated_host::Unrated;
use super::table::{AdmissionTable, Test};
use super::terms::{Breakdown, ps};
use super::transmission::message;
use laxity_qos::channel::Role;

/// Every promise that such a host has made.
#[derive(Debug, Clone)]
pub struct LaunchedHost {
    cpu: AdmissionTable,
    /// The host with its link, which the CPU's table looks at from one side.
    environment: Environment,
    /// `O`.
    launch: Span,
    /// The channels that leave, as they asked.
    sends: BTreeMap<AdmissionId, Request>,
}

impl LaunchedHost {
    /// A host without channels, of which packets of real time have launch times `launch` after their
    /// logical arrivals, which is not zero.
    pub fn new(environment: Environment, launch: Span) -> Result<Self, Unrated> {
        if environment.levels.is_some() || launch.is_zero() {
            return Err(Unrated::Order);
        }
        let environment = Environment { model: ResourceModel::ApartHanded, ..environment };
        let cpu =
            AdmissionTable::with_test(environment.clone(), Test::Demand).map_err(Unrated::Environment)?;
        Ok(Self { cpu, environment, launch, sends: BTreeMap::new() })
    }

    /// Admits `asked`, or says why not and leaves the table unchanged.
    pub fn request(&mut self, asked: Request) -> Decision {
        match self.admit(asked) {
            Ok((id, bound)) => Decision::Admitted { id, priority: 0, bound },
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    fn admit(&mut self, asked: Request) -> Result<(AdmissionId, Span), AdmissionRefusal> {
        if !asked.is_sent() {
            return match self.cpu.request(asked) {
                Decision::Admitted { id, bound, .. } => Ok((id, bound)),
                Decision::Refused(refusal) => Err(self.of_cpu(refusal, false)),
            };
        }
        let newcomer = |(resource, deficit, reason): Impossible| {
            AdmissionRefusal::new(resource, deficit, reason, Claimant::Newcomer)
        };
        buffers::check(&self.environment, &asked).map_err(newcomer)?;
        let id = match self.cpu.request(asked.within(self.launch).with_any_room()) {
            Decision::Admitted { id, .. } => id,
            Decision::Refused(refusal) => return Err(self.of_cpu(refusal, true)),
        };
        self.sends.insert(id, asked);
        self.kept(id).map(|bound| (id, bound)).inspect_err(|_| {
            self.release(id);
        })
    }

    /// A refusal of the CPU: what is late there and leaves the host is late for its launch time.
    fn of_cpu(&self, refusal: AdmissionRefusal, newcomer_sends: bool) -> AdmissionRefusal {
        let sends = match refusal.claimant {
            Claimant::Newcomer => newcomer_sends,
            Claimant::Channel(id) => self.sends.contains_key(&id),
        };
        match sends && refusal.reason == Reason::Late {
            true => AdmissionRefusal { resource: Scarce::Cpu, reason: Reason::LaunchedLate, ..refusal },
            false => refusal,
        }
    }

    /// Gives up a reservation; `false` if there is none.
    pub fn release(&mut self, id: AdmissionId) -> bool {
        self.sends.remove(&id);
        self.cpu.release(id)
    }

    /// The least deadline that could be promised in place of that of `asked`. By (2) it does not
    /// depend on the one asked for.
    pub fn least_deadline(&self, asked: &Request) -> Result<Span, AdmissionRefusal> {
        if !asked.is_sent() {
            return self.cpu.least_deadline(asked);
        }
        let own = self.service(asked);
        let least = self.through().saturating_add(own);
        self.clone().admit(asked.within(least)).map(|(_, bound)| bound)
    }

    /// Every bound.
    pub fn bounds(&self) -> Vec<Bound> {
        let through = self.through().saturating_sub(self.launch);
        let of = |own: Bound| {
            let Some(asked) = self.sends.get(&own.id) else { return own };
            let launched = Bound { deadline: asked.deadline(), bound: self.launch, ..own };
            launched.and_then(self.lower(), self.service(asked), through)
        };
        self.cpu.bounds().into_iter().map(of).collect()
    }

    /// A bound in words.
    pub fn terms(&self, asked: &Request) -> Result<(Breakdown, Breakdown), AdmissionRefusal> {
        if !asked.is_sent() {
            return Ok((self.cpu.wait_time(asked)?, self.cpu.service_time(asked)?));
        }
        let wait = Breakdown::default()
            .and("the launch time, by which the CPU is done", ps(self.launch))
            .and("a packet of best effort on the link", ps(self.lower()));
        let service = Breakdown::default().and(self.environment.link.by(), ps(self.service(asked)));
        Ok((wait, service))
    }

    /// `C_j`.
    fn service(&self, asked: &Request) -> Span {
        message(&self.environment, asked, 0)
    }

    /// `B`.
    fn lower(&self) -> Span {
        let Environment { link, packet, best_effort, .. } = &self.environment;
        let sent = best_effort.iter().filter(|class| class.role != Role::Receive && !class.elsewhere);
        sent.map(|class| link.transmit(class.max_message.min(*packet))).max().unwrap_or_default()
    }

    /// `T`.
    fn through(&self) -> Span {
        let sent = self.sends.values().map(|asked| self.service(asked));
        sent.fold(self.launch.saturating_add(self.lower()), Span::saturating_add)
    }

    /// The bound of `newcomer`, which leaves, if every channel is in time.
    fn kept(&self, newcomer: AdmissionId) -> Result<Span, AdmissionRefusal> {
        // In parts of all the time of the link, rounded up.
        const ALL: u128 = 1 << 40;
        let share = |asked: &Request| {
            (ps(self.service(asked)).saturating_mul(ALL)).div_ceil(ps(asked.spec().min_interval).max(1))
        };
        let load = self.sends.values().map(share).fold(0, u128::saturating_add);
        if load > ALL {
            let deficit = Deficit::share_beyond(load, ALL);
            return Err(AdmissionRefusal::new(Scarce::Link, deficit, Reason::Overload, Claimant::Newcomer));
        }
        let through = self.through();
        for (id, asked) in &self.sends {
            let late = through.saturating_sub(asked.deadline());
            if !late.is_zero() {
                return Err(AdmissionRefusal::late(late, Claimant::of(*id, newcomer)));
            }
        }
        Ok(through)
    }
}

#[cfg(test)]
mod tests {
    use laxity_units::Bytes;

    use super::*;
    use crate::tests::{decided, of_round_figures};
    use crate::{BestEffort, Buffers};
    use laxity_qos::traffic::TrafficSpec;

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    /// 10 us to make a packet of 1000 B and 20 us for it on the link; best effort of `others`.
    fn host(launch: Span, others: &[u64]) -> LaunchedHost {
        let class = |size: &u64| BestEffort {
            max_message: Bytes::new(*size),
            min_message: Bytes::new(*size),
            role: Role::Send,
            elsewhere: false,
            program: Span::ZERO,
        };
        let environment = of_round_figures(ResourceModel::ApartHanded, Span::from_ns(20));
        let best_effort = others.iter().map(class).collect();
        LaunchedHost::new(Environment { depth: u32::MAX, best_effort, ..environment }, launch).unwrap()
    }

    fn asks(packets: u64, interval: Span, deadline: Span) -> Request {
        let size = Bytes::new(1000) * packets;
        let spec = TrafficSpec { max_message: size, min_message: size, burst: 1, min_interval: interval };
        Request::new(spec, deadline).unwrap()
    }

    fn admitted(host: &mut LaunchedHost, asked: Request) -> (AdmissionId, Span) {
        decided::admitted(host.request(asked))
    }

    fn refused(host: &mut LaunchedHost, asked: Request) -> AdmissionRefusal {
        let before = host.bounds();
        let refusal = decided::refused(host.request(asked));
        assert_eq!(host.bounds(), before, "a refusal leaves all as it was");
        refusal
    }

    /// `O + B + Σ C`: 60 us, 10 us for 500 B of best effort, and 20 and 40 us for the two messages,
    /// whatever deadlines they ask for.
    #[test]
    fn a_message_waits_for_its_launch_time_one_packet_and_a_message_of_each_channel() {
        let mut alone = host(us(60), &[]);
        assert_eq!(admitted(&mut alone, asks(1, us(200), us(500))).1, us(80));
        let mut host = self::host(us(60), &[300, 500]);
        assert_eq!(admitted(&mut host, asks(1, us(200), us(500))).1, us(90));
        assert_eq!(admitted(&mut host, asks(2, us(300), us(130))).1, us(130));
        assert_eq!(host.bounds().iter().map(|it| it.bound).collect::<Vec<_>>(), [us(130); 2]);
        for (bound, (service, higher)) in host.bounds().into_iter().zip([(20, 40), (40, 20)]) {
            assert_eq!((bound.wait, bound.service, bound.higher), (us(70), us(service), us(higher)));
        }
        let asked = asks(2, us(300), us(130));
        let (wait, service) = host.terms(&asked).unwrap();
        assert_eq!((wait.total(), service.total()), (us(70), us(40)));
        // Packets of no more than 1000 B are sent of a larger message.
        let mut long = self::host(us(60), &[5000]);
        assert_eq!(admitted(&mut long, asks(1, us(900), us(900))).1, us(60 + 20 + 20));
    }

    /// Completions are 20 us apart and take 1 of the CPU, three of them may be pending: `R = (10 + 10
    /// + 3) · 20/19 = 24.2` us. A launch time after 25 us is late enough and one after 24 us is not.
    #[test]
    fn the_cpu_has_to_be_done_by_the_launch_time() {
        assert_eq!(admitted(&mut host(us(25), &[]), asks(1, us(100), us(200))).1, us(45));
        let late = refused(&mut host(us(24), &[]), asks(1, us(100), us(200)));
        assert_eq!(
            (late.resource, late.reason, late.claimant),
            (Scarce::Cpu, Reason::LaunchedLate, Claimant::Newcomer)
        );
        let Deficit::Time(by) = late.deficit else { panic!("{late}") };
        assert!(Span::from_ns(210) < by && by < Span::from_ns(211), "{by}");
        assert!(late.to_string().contains("host.subsystem.link.launch"), "{late}");
        // A second channel may be made first: 10 us more, and a fiftieth.
        let mut two = host(us(30), &[]);
        let (first, _) = admitted(&mut two, asks(1, us(100), us(200)));
        let late = refused(&mut two, asks(1, us(100), us(900)));
        assert_eq!(late.reason, Reason::LaunchedLate);
        assert!(two.release(first) && !two.release(first));
        admitted(&mut two, asks(1, us(100), us(900)));
    }

    /// A message that ends here takes 10 us of the CPU and has its own deadline. It may leave too little
    /// of the CPU for a launch time.
    #[test]
    fn what_ends_here_takes_the_cpu_and_not_the_link() {
        let ends = |deadline| asks(1, us(200), deadline).at(Role::Receive);
        let mut host = self::host(us(30), &[]);
        admitted(&mut host, ends(us(150)));
        let late = refused(&mut host, ends(us(5)));
        assert_eq!(late.reason, Reason::Late, "{late}");
        assert_eq!(admitted(&mut host, asks(1, us(200), us(200))).1, us(50));
        assert_eq!(refused(&mut host, ends(us(25))).reason, Reason::Late);
        // The other way round the channel that leaves is late for its launch time.
        let mut host = self::host(us(30), &[]);
        admitted(&mut host, ends(us(25)));
        let late = refused(&mut host, asks(1, us(200), us(200)));
        assert_eq!(late.reason, Reason::LaunchedLate, "{late}");
    }

    /// The link may be busy all the time, and not more: three packets in 60 us are all of it. A share is
    /// rounded up.
    #[test]
    fn the_link_has_room_for_all_that_is_launched() {
        let mut full = host(us(90), &[]);
        assert_eq!(admitted(&mut full, asks(3, us(60), us(300))).1, us(150));
        let more = refused(&mut full, asks(1, us(1000), us(1000)));
        assert_eq!(
            (more.resource, more.reason, more.deficit),
            (Scarce::Link, Reason::Overload, Deficit::Share(20_001))
        );
    }

    /// The first channel has 60 us and asks for 70: the second makes it 80, whatever it asks for.
    #[test]
    fn a_newcomer_makes_no_other_late() {
        let mut host = self::host(us(40), &[]);
        let late = refused(&mut host, asks(1, us(100), us(59)));
        assert_eq!(
            (late.reason, late.deficit, late.claimant),
            (Reason::Late, Deficit::Time(us(1)), Claimant::Newcomer)
        );
        let (first, _) = admitted(&mut host, asks(1, us(100), us(70)));
        let late = refused(&mut host, asks(1, us(100), us(900)));
        assert_eq!(
            (late.reason, late.deficit, late.claimant),
            (Reason::Late, Deficit::Time(us(10)), Claimant::Channel(first))
        );
    }

    #[test]
    fn the_least_deadline_is_the_bound() {
        let mut host = host(us(60), &[500]);
        admitted(&mut host, asks(1, us(200), us(500)));
        for asked in [us(1), us(300)] {
            assert_eq!(host.least_deadline(&asks(2, us(300), asked)), Ok(us(130)));
        }
        let before = asks(2, us(300), us(130) - Span::from_ps(1));
        assert_eq!(refused(&mut host, before).deficit, Deficit::Time(Span::from_ps(1)));
        admitted(&mut host, asks(2, us(300), us(130)));
    }

    /// A deadline of 250 us with a message each 100 us: three may be under way.
    #[test]
    fn buffers_are_for_all_that_is_under_way() {
        let asked = |messages, packets| {
            asks(1, us(100), us(250)).with_buffers(Buffers { messages, packets, waits: true })
        };
        assert_eq!(refused(&mut host(us(60), &[]), asked(2, 3)).deficit, Deficit::Places(1));
        assert_eq!(refused(&mut host(us(60), &[]), asked(3, 1)).deficit, Deficit::Places(2));
        admitted(&mut host(us(60), &[]), asked(3, 3));
    }

    #[test]
    fn levels_and_no_offset_have_no_such_table() {
        let environment = of_round_figures(ResourceModel::Handed, Span::from_ns(20));
        assert!(matches!(LaunchedHost::new(environment.clone(), Span::ZERO), Err(Unrated::Order)));
        let levels = Environment { levels: Some(31), ..environment };
        assert!(matches!(LaunchedHost::new(levels, us(9)), Err(Unrated::Order)));
    }
}
