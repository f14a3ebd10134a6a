//! Scenarios of a host that only receives: interfaces under every policy, and what comes in at them.

use laxity_qos::discipline::Class;
use laxity_qos::reception::TakenBuffers;
use laxity_units::{Bytes, Span};

use super::dice::Dice;
use super::sketch::{
    Drafted, Drawn, boolean, factor, name, part, parts, quantity, share, table, text, that, this, unsaid,
    whole, word, words,
};
use super::theme::Theme;
use crate::choice::{CostKind, FormulaWord, NoProgram, PolicyKind, SharingKind, SourceKind};
use crate::raw::{
    RawAdmission, RawChannel, RawHost, RawInterface, RawReceive, RawRun, RawScenario, RawSharing, RawSource,
};
use crate::written::Part;

/// A scenario with `title` that receives, for a host of `theme`.
pub(super) fn scenario(dice: &mut Dice, theme: &Theme, title: String) -> Drafted<RawScenario> {
    let interfaces: Vec<String> = (0..dice.pick(&[1, 1, 2, 3])).map(|n| format!("lan{n}")).collect();
    // A packet takes the host about so long in all, and so many come in that time.
    let work = (theme.costs.receive_packet + theme.costs.interrupt * 2).max(Span::from_us(5));
    let channels: Vec<Drafted<RawChannel>> =
        (0..dice.between(1, 4)).map(|n| channel(dice, n, work, &interfaces)).collect();
    let drafted = interfaces.iter().map(|name| interface(dice, name, work, theme.careless)).collect();
    let packets = dice.between(50, 800);
    let length = dice.rounded(work * packets);
    let admission: Drafted<RawAdmission> = table!(RawAdmission {
        formula: word::<FormulaWord>("off"),
        test: unsaid(),
        local_deadline: unsaid(),
        refusal: unsaid(),
        fill: unsaid(),
    });
    table!(RawScenario {
        title: text(title),
        about: unsaid(),
        seed: dice.maybe(0.5, |dice| whole(dice.below(1 << 40))),
        host: part(host(dice, theme, work)),
        adapter: unsaid(),
        path: unsaid(),
        network: unsaid(),
        admission: part(admission),
        run: run(dice, length),
        interface: parts(drafted),
        channel: parts(channels),
        emulation: unsaid(),
        port: unsaid(),
        fault: unsaid(),
        sweep: unsaid(),
        claim: unsaid(),
        figure: unsaid(),
        tune: unsaid(),
    })
}

fn host(dice: &mut Dice, theme: &Theme, work: Span) -> Drafted<RawHost> {
    let cost = |dice: &mut Dice| quantity(dice.part_of(work));
    let receive: Drafted<RawReceive> = table!(RawReceive {
        program: dice.maybe(0.8, cost),
        poll: dice.maybe(0.4, cost),
        announce: dice.maybe(0.4, |dice| quantity(dice.part_of(work / 8))),
        costs: dice.any::<CostKind>(0.4),
    });
    table!(RawHost {
        profile: text(if theme.said { "hartos-np" } else { "mc68040" }),
        applications: unsaid(),
        costs: if theme.said { part(super::host::costs(theme)) } else { unsaid() },
        speedup: dice.maybe(0.1, |dice| factor(dice.pick(&[0.5, 3.0]))),
        subsystem: unsaid(),
        driver: unsaid(),
        receive: dice.maybe(0.9, |_| part(receive)),
    })
}

fn run(dice: &mut Dice, length: Span) -> Drawn<Option<Part<RawRun>>> {
    let in_packets = dice.chance(0.2);
    let total = dice.between(20, 400);
    let left_out = |dice: &mut Dice| match in_packets {
        true => this(whole(dice.below(total / 4))),
        false => that(quantity(dice.part_of(length / 4))),
    };
    part(table!(RawRun {
        clock: unsaid(),
        packets: if in_packets { whole(total) } else { unsaid() },
        time: if in_packets { unsaid() } else { quantity(length) },
        warmup: dice.maybe(0.2, left_out),
        cooldown: dice.maybe(0.2, left_out),
    }))
}

fn channel(dice: &mut Dice, n: u64, work: Span, interfaces: &[String]) -> Drafted<RawChannel> {
    let real_time = dice.chance(0.5);
    let interval = work / 2 + dice.part_of(work * 4);
    let interval = dice.rounded(interval).max(Span::from_us(1));
    let size = Bytes::new(dice.pick(&[64, 512, 1500]));
    let burst = dice.pick(&[1, 1, 3]);
    let source: Drafted<RawSource> = table!(RawSource {
        // It has times of its own, whatever becomes of it.
        kind: word::<SourceKind>(dice.pick(&["periodic", "bursty", "poisson"])),
        interval: quantity(interval),
        rate: unsaid(),
        multiple: dice.maybe(0.3, |dice| factor(dice.pick(&[0.5, 2.0, 4.0]))),
        burst: unsaid(),
        size: unsaid(),
        outstanding: unsaid(),
        phase: dice.maybe(0.4, |dice| that(quantity(dice.part_of(interval)))),
        allowance: unsaid(),
        trace: unsaid(),
        film: unsaid(),
        min: unsaid(),
        max: unsaid(),
        mean: unsaid(),
        deviation: unsaid(),
        pattern: unsaid(),
        stagger: unsaid(),
        start: unsaid(),
        repeat: unsaid(),
        messages: unsaid(),
    });
    table!(RawChannel {
        name: name(format!("in{n}")),
        class: word::<Class>(if real_time { "real_time" } else { "best_effort" }),
        from: unsaid(),
        to: unsaid(),
        count: dice.maybe(0.2, |_| whole(2)),
        max_message: quantity(size),
        min_message: unsaid(),
        burst: whole(burst),
        min_interval: if real_time { quantity(interval) } else { unsaid() },
        rate: unsaid(),
        deadline: if real_time { quantity(interval * dice.between(1, 20)) } else { unsaid() },
        level: unsaid(),
        message_slots: unsaid(),
        packet_slots: unsaid(),
        refusal: unsaid(),
        message_overflow: unsaid(),
        packet_overflow: unsaid(),
        carries: unsaid(),
        interface: name(interfaces[dice.below(interfaces.len() as u64) as usize].clone()),
        source: part(source),
    })
}

fn interface(dice: &mut Dice, called: &str, work: Span, careless: bool) -> Drafted<RawInterface> {
    let policy = dice.pick(&words::<PolicyKind>());
    let is = |of: &[&str]| careless || of.contains(&policy);
    let lazy = policy.starts_with("lazy");
    let quota = is(&[
        "continuous",
        "timed",
        "hard_timer",
        "soft_timer",
        "explicit",
        "limited",
        "backoff",
        "guaranteed",
        "napi",
        "cycle_limited",
    ]);
    let interval = is(&["timed", "hard_timer", "explicit", "limited", "guaranteed", "cycle_limited"]);
    let backoff = is(&["backoff"]);
    let handshake = dice.chance(0.4);
    let shares = dice.chance(0.4);
    let period = work / 2 + dice.part_of(work * 4);
    let period = dice.rounded(period).max(Span::from_us(1));
    let room = dice.pick(&[1, 2, 8, 128]);
    let sharing = sharing(dice);
    table!(RawInterface {
        name: name(called),
        policy: word::<PolicyKind>(policy),
        quota: if quota { whole(dice.pick(&[1, 2, 3, 8, 64])) } else { unsaid() },
        interval: if interval { quantity(period) } else { unsaid() },
        intervals: if is(&["soft_timer"]) { text("st-apache") } else { unsaid() },
        bound: match is(&["soft_timer"]) {
            true => dice.maybe(0.7, |dice| quantity(Span::from_us(dice.between(1, 40)))),
            false => unsaid(),
        },
        minimum: if backoff { quantity(period) } else { unsaid() },
        maximum: if backoff { quantity(period * dice.between(1, 20)) } else { unsaid() },
        factor: if backoff { factor(dice.pick(&[1.1, 1.5, 2.0])) } else { unsaid() },
        restore: if backoff { share(dice.pick(&[0.5, 0.8, 0.99])) } else { unsaid() },
        threshold: match backoff {
            true => dice.maybe(0.4, |dice| share(dice.pick(&[0.0, 0.5, 1.0]))),
            false => unsaid(),
        },
        taken: if backoff { dice.any::<TakenBuffers>(0.5) } else { unsaid() },
        spare: match is(&["guaranteed"]) {
            true => dice.maybe(0.6, |dice| whole(dice.below(5))),
            false => unsaid(),
        },
        frames: if is(&["coalescing"]) { whole(dice.between(1, 20)) } else { unsaid() },
        delay: if is(&["coalescing"]) { quantity(dice.part_of(work * 10)) } else { unsaid() },
        restarts: match is(&["napi"]) {
            true => dice.maybe(0.6, |dice| whole(dice.below(4))),
            false => unsaid(),
        },
        share: if is(&["cycle_limited"]) { share(dice.pick(&[0.1, 0.5, 1.0])) } else { unsaid() },
        sharing: if shares { part(sharing) } else { unsaid() },
        slots: dice.maybe(0.6, |_| whole(room)),
        slots_best_effort: if shares { dice.maybe(0.4, |_| whole(room)) } else { unsaid() },
        handshake: if handshake { boolean(true) } else { dice.maybe(0.2, |_| boolean(false)) },
        transfer: match handshake {
            true => dice.maybe(0.5, |dice| quantity(dice.part_of(work))),
            false => unsaid(),
        },
        early_drop: dice.maybe(0.6, |dice| boolean(dice.chance(0.5))),
        buffers: match lazy || policy == "backoff" {
            false if dice.chance(0.3) => this(word::<NoProgram>("none")),
            _ => dice.maybe(0.6, |_| that(whole(room))),
        },
    })
}

fn sharing(dice: &mut Dice) -> Drafted<RawSharing> {
    let kind = dice.word::<SharingKind>("weighted", 0.3);
    let weights = kind != "exhaustive";
    table!(RawSharing {
        kind: word::<SharingKind>(kind),
        real_time: if weights { whole(dice.between(1, 4)) } else { unsaid() },
        best_effort: if weights { whole(dice.between(1, 4)) } else { unsaid() },
    })
}
