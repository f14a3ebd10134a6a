//! Changes of a scene, each a guess at what a worse one has.
//!
//! All but the plainest take their instants from what the last look at the scene showed
//! ([`Sight`]): where a block began, where a transmission ended, when the message under attack was
//! released and when it left.

use std::sync::Arc;

use laxity_engine::Stream;
use laxity_model::source::Arrival;
use laxity_units::{Span, Time};

use super::ground::Ground;
use super::opening;
use super::scene::{Play, Scene, fit, fit_best_effort};
use super::sight::Sight;

/// The scene and its run, as a change sees them.
pub(super) struct Knowledge<'a> {
    pub(super) ground: &'a Ground,
    pub(super) target: usize,
    pub(super) sight: &'a Sight,
    /// Logical arrival and end of the message under attack.
    pub(super) critical: (Time, Time),
}

/// Which messages move with one that is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum With {
    Alone,
    Later,
    All,
}

/// Changes `scene` at one place.
pub(super) fn change(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    match random.below(21) {
        0..=2 => shift(scene, known, random),
        3..=6 => align(scene, known, random),
        7 | 8 => meet(scene, known, random),
        9 | 10 => share_deadline(scene, known, random),
        11 | 12 => release_together(scene, known, random),
        13 => resize(scene, known, random),
        14 => leave_out(scene, known, random),
        15 => add(scene, known, random),
        16 => press(scene, known, random),
        17 => shorten(scene, known, random),
        18 if rounds(scene, known, random) => {}
        _ => best_effort(scene, known, random),
    }
}

/// A channel that has messages in a list, and one of those around the message under attack.
fn message(scene: &Scene, known: &Knowledge<'_>, random: &mut Stream) -> Option<(usize, usize)> {
    let listed: Vec<usize> =
        (0..scene.plays.len()).filter(|&channel| !scene.plays[channel].messages().is_empty()).collect();
    let channel = *pick(&listed, random)?;
    let messages = scene.plays[channel].messages();
    let (from, to) = known.window();
    let near: Vec<usize> = (0..messages.len()).filter(|&k| (from..=to).contains(&messages[k].at)).collect();
    let number = pick(&near, random).copied().unwrap_or(random.below(messages.len() as u64) as usize);
    Some((channel, number))
}

impl Knowledge<'_> {
    /// The interval that can influence the message under attack: from one bound before its release
    /// to its end.
    fn window(&self) -> (Time, Time) {
        let bound = self.ground.players[self.target].bound.unwrap_or(Span::ZERO);
        (self.critical.0.saturating_sub(bound), self.critical.1)
    }

    /// An instant at which something began or ended, or a picosecond beside it.
    fn instant(&self, random: &mut Stream) -> Option<Time> {
        let (from, to) = self.window();
        // Half of the draws are close to the release, where most is decided.
        let near = (self.critical.0.saturating_sub(Span::from_ms(1)), self.critical.0 + Span::from_ms(1));
        let (from, to) = if random.below(2) == 0 { near } else { (from, to) };
        pick(Sight::within(&self.sight.instants, from, to), random).map(|at| beside(*at, random))
    }
}

fn pick<'a, T>(of: &'a [T], random: &mut Stream) -> Option<&'a T> {
    if of.is_empty() { None } else { of.get(random.below(of.len() as u64) as usize) }
}

/// `at`, or a picosecond earlier or later.
fn beside(at: Time, random: &mut Stream) -> Time {
    match random.below(4) {
        0 | 1 => at + Span::from_ps(1),
        2 => at,
        _ => at.saturating_sub(Span::from_ps(1)),
    }
}

fn with(random: &mut Stream) -> With {
    match random.below(4) {
        0 => With::Alone,
        1 => With::Later,
        _ => With::All,
    }
}

/// Puts `messages` in place of those of `channel`, made to conform.
fn put(scene: &mut Scene, known: &Knowledge<'_>, channel: usize, mut messages: Vec<Arrival>) {
    let player = &known.ground.players[channel];
    match player.real_time {
        true => fit(&mut messages, &player.spec, player.limits, scene.length),
        false => fit_best_effort(&mut messages, &player.spec, scene.length),
    }
    scene.plays[channel] = Play::Script(Arc::from(messages));
}

/// Moves message `number` of `channel` to `to`, and others by the same time.
fn retime(scene: &mut Scene, known: &Knowledge<'_>, (channel, number): (usize, usize), to: Time, with: With) {
    let mut messages = scene.plays[channel].messages().to_vec();
    let from = messages[number].at;
    let moved = |k: usize| match with {
        With::Alone => k == number,
        With::Later => k >= number,
        With::All => true,
    };
    for (_, message) in messages.iter_mut().enumerate().filter(|(k, _)| moved(*k)) {
        message.at = moved_by(message.at, from, to);
    }
    put(scene, known, channel, messages);
}

/// `at`, moved as far as it is from `from` to `to`.
fn moved_by(at: Time, from: Time, to: Time) -> Time {
    match to >= from {
        true => at.saturating_add(to.since(from)),
        false => at.saturating_sub(from.since(to)),
    }
}

/// Moves a message by a time of any order of magnitude.
fn shift(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some((channel, number)) = message(scene, known, random) else { return };
    let at = scene.plays[channel].messages()[number].at;
    let by = magnitude(known.ground.players[known.target].bound.unwrap_or(Span::from_ms(1)), random);
    let to = if random.below(2) == 0 { at.saturating_add(by) } else { at.saturating_sub(by) };
    retime(scene, known, (channel, number), to, with(random));
}

/// A span of a drawn order of magnitude, up to about `most`.
fn magnitude(most: Span, random: &mut Stream) -> Span {
    let digits = u64::from(64 - most.as_ps().leading_zeros()).max(1);
    let below = 1u64 << random.below(digits).min(62);
    Span::from_ps(below + random.below(below))
}

/// Moves a message to where something began or ended.
fn align(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some(place) = message(scene, known, random) else { return };
    let Some(to) = known.instant(random) else { return };
    retime(scene, known, place, to, with(random));
}

/// Moves a message to the release of the message under attack, or to that of any other.
fn meet(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some(place) = message(scene, known, random) else { return };
    let to = match random.below(3) {
        0 => message(scene, known, random).map(|(channel, k)| scene.plays[channel].messages()[k].at),
        _ => None,
    };
    let to = beside(to.unwrap_or(known.critical.0), random);
    retime(scene, known, place, to, with(random));
}

/// Moves a message so that it is due just when the one under attack is: the latest that EDF still
/// puts before it.
fn share_deadline(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some((channel, number)) = message(scene, known, random) else { return };
    let players = &known.ground.players;
    if !players[channel].real_time || channel == known.target {
        return;
    }
    let due = known.critical.0.saturating_add(players[known.target].local);
    let to = due.saturating_sub(players[channel].local).saturating_sub(Span::from_ps(random.below(2)));
    retime(scene, known, (channel, number), to, with(random));
}

/// Moves all real-time channels by the same time, so that the critical release meets an instant of
/// the remaining traffic.
fn release_together(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some(to) = known.instant(random) else { return };
    let from = known.critical.0;
    // At times a part of them only: those above the target and not those that it waits for.
    let part = random.below(3) == 0;
    for channel in 0..scene.plays.len() {
        let player = &known.ground.players[channel];
        let stays = part && (player.local > known.ground.players[known.target].local || random.below(4) == 0);
        if !player.real_time
            || (stays && channel != known.target)
            || scene.plays[channel].messages().is_empty()
        {
            continue;
        }
        let first = scene.plays[channel].messages()[0].at;
        retime(scene, known, (channel, 0), moved_by(first, from, to), With::All);
    }
}

/// Changes the size of a message, or of all of a channel.
fn resize(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some((channel, number)) = message(scene, known, random) else { return };
    let size = opening::size(&known.ground.players[channel], known.ground.packet, random);
    let mut messages = scene.plays[channel].messages().to_vec();
    if random.below(3) == 0 {
        messages.iter_mut().for_each(|message| message.size = size);
    } else {
        messages[number].size = size;
    }
    put(scene, known, channel, messages);
}

/// Removes a message, or all messages before one.
fn leave_out(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some((channel, number)) = message(scene, known, random) else { return };
    let mut messages = scene.plays[channel].messages().to_vec();
    match random.below(3) {
        0 => drop(messages.drain(..number)),
        _ => drop(messages.remove(number)),
    }
    put(scene, known, channel, messages);
}

/// Sends one more message.
fn add(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let senders: Vec<usize> = (0..scene.plays.len())
        .filter(|&channel| known.ground.players[channel].sends)
        .filter(|&channel| matches!(scene.plays[channel], Play::Script(_)))
        .collect();
    let (Some(&channel), Some(at)) = (pick(&senders, random), known.instant(random)) else { return };
    let size = opening::size(&known.ground.players[channel], known.ground.packet, random);
    let mut messages = scene.plays[channel].messages().to_vec();
    messages.push(Arrival { at, size });
    put(scene, known, channel, messages);
}

/// Sends from one message on as much as is allowed: at the logical times, or as far ahead of them
/// as the burst goes.
fn press(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let Some((channel, number)) = message(scene, known, random) else { return };
    let player = &known.ground.players[channel];
    if !player.real_time {
        return;
    }
    let mut messages = scene.plays[channel].messages().to_vec();
    let first = messages[number].at;
    let interval = player.spec.min_interval;
    let steps = (Time::ZERO + scene.length).saturating_since(first).div_floor(interval).min(1000);
    messages.truncate(number);
    let ahead = random.below(2) == 0;
    messages.extend((0..=steps).map(|k| Arrival {
        // Messages too early for the burst are moved to the first allowed instants.
        at: if ahead { first } else { first.saturating_add(interval.saturating_mul(k)) },
        size: player.spec.max_message,
    }));
    put(scene, known, channel, messages);
}

/// Removes the beginning of the scene, and the part of its end that no message needs. If the
/// response stays as long, later steps cost less.
fn shorten(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let (release, left) = known.critical;
    let bound = known.ground.players[known.target].bound.unwrap_or(Span::ZERO);
    let spare = release.saturating_sub(bound).since(Time::ZERO);
    let cut = Span::from_ps(random.below(spare.as_ps().max(1)));
    let needed = left.saturating_add(bound).saturating_sub(cut).since(Time::ZERO);
    scene.length = scene.length.saturating_sub(cut).min(needed);
    for channel in 0..scene.plays.len() {
        if let Play::Script(messages) = &scene.plays[channel] {
            let kept = messages.iter().filter(|message| message.at >= Time::ZERO + cut);
            let kept =
                kept.map(|message| Arrival { at: message.at.saturating_sub(cut), ..*message }).collect();
            put(scene, known, channel, kept);
        }
    }
}

/// Changes the size or the number of the messages that a channel sends in a round; whether any
/// channel sends in rounds.
fn rounds(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) -> bool {
    let players = &known.ground.players;
    let all: Vec<usize> = (0..players.len()).filter(|channel| players[*channel].rounds.is_some()).collect();
    // Without a choice no random number is drawn, so the climb of another experiment does not
    // change.
    let Some(channel) = pick(&all, random) else { return false };
    let Play::Rounds { size, window, .. } = &mut scene.plays[*channel] else { return false };
    let most = players[*channel].rounds.map_or(1, |(window, _)| window);
    // Bounds of exchanges over hosts count the messages of a round.
    let fixed = known.ground.experiment.virtual_interfaces().is_none();
    match random.below(2) {
        1 if !fixed => *window = 1 + random.below(u64::from(most)) as u32,
        _ => *size = opening::size(&players[*channel], known.ground.packet, random),
    }
    true
}

/// Changes the best-effort traffic: a flood, silence, or a message that begins just before a
/// transmission ends.
fn best_effort(scene: &mut Scene, known: &Knowledge<'_>, random: &mut Stream) {
    let ground = known.ground;
    let may = |c: &usize| {
        let player = &ground.players[*c];
        !player.real_time && player.sends && player.rounds.is_none()
    };
    let all: Vec<usize> = (0..ground.players.len()).filter(may).collect();
    let Some(&channel) = pick(&all, random) else { return };
    let player = &ground.players[channel];
    let size = opening::size(player, ground.packet, random);
    match random.below(8) {
        0 => scene.plays[channel] = ground.flood(channel, size, scene.length),
        1 => scene.plays[channel] = Play::silence(),
        _ => {
            let (from, to) = match random.below(3) {
                0 => known.window(),
                _ => known.critical,
            };
            let ends = Sight::within(&known.sight.completions, from, to);
            let mut messages = scene.plays[channel].messages().to_vec();
            // The first instant without a message, so that a train of messages grows from its
            // beginning; or a random one.
            let lacks = |end: &&Time| {
                let before = end.saturating_sub(Span::from_us(1));
                !messages.iter().any(|message| (before..=**end).contains(&message.at))
            };
            let end = match random.below(3) {
                0 => pick(ends, random),
                _ => ends.iter().find(lacks),
            };
            let Some(&end) = end else { return };
            let at =
                if random.below(2) == 0 { end.saturating_sub(Span::from_ps(1)) } else { beside(end, random) };
            messages.push(Arrival { at, size });
            put(scene, known, channel, messages);
        }
    }
}
