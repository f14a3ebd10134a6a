//! Scenes to start from: what the proofs take for the worst, and every deviation from it that a
//! proof rules out.
//!
//! Under fixed priorities the worst is that all higher channels release at one instant, just after
//! a lower block has begun. Under EDF a channel is above the target as long as its deadline is not
//! later, so the worst may have every deadline at one instant and the releases before it. Which of
//! the two (or what of both, channel by channel) is worst depends on the set; openings draw it. On a path a
//! packet of another channel is worst that is at a common station just before that of the target.

use std::sync::Arc;

use laxity_engine::Stream;
use laxity_model::source::Arrival;
use laxity_units::{Bytes, Span, Time};

use super::ground::{Ground, Player};
use super::scene::{Play, Scene, fit};

/// How a channel stands to the critical instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// Releases at it.
    Release,
    /// Has a deadline where the target has its own.
    Deadline,
    /// Is at a common station just before the target, with a burst.
    Meeting,
    /// Somewhere.
    Anywhere,
}

/// The channels that a scene chooses messages for.
fn free(ground: &Ground) -> impl Iterator<Item = (usize, &Player)> {
    ground.players.iter().enumerate().filter(|(_, player)| player.sends && player.rounds.is_none())
}

/// A drawn scene against `target`.
pub(super) fn draw(ground: &Ground, target: usize, random: &mut Stream) -> Scene {
    let mut scene = ground.empty(target);
    let all = match random.below(4) {
        0 => Some(Anchor::Release),
        1 if ground.by_deadline => Some(Anchor::Deadline),
        2 if ground.meets => Some(Anchor::Meeting),
        _ => None,
    };
    let before = random.below(2) == 0;
    for (channel, player) in free(ground) {
        scene.plays[channel] = if player.real_time {
            let anchor = all.unwrap_or_else(|| match random.below(5) {
                0 | 1 => Anchor::Release,
                2 | 3 if ground.by_deadline => Anchor::Deadline,
                3 if ground.meets => Anchor::Meeting,
                _ => Anchor::Anywhere,
            });
            let anchor = if channel == target { Anchor::Release } else { anchor };
            let first = anchored(ground, target, player, anchor, random);
            // Earlier messages matter by the state that they leave, which may help or hinder.
            let before = if all.is_some() { before } else { random.below(2) == 0 };
            let largest = player.limits.iter().map(|limit| limit.burst).fold(player.spec.burst, u32::max);
            let burst = if anchor == Anchor::Meeting { largest } else { 1 };
            regular(player, first, before && channel != target, burst, scene.length)
        } else {
            best_effort(ground, channel, scene.length, random)
        };
    }
    scene
}

fn anchored(ground: &Ground, target: usize, player: &Player, anchor: Anchor, random: &mut Stream) -> Time {
    let release = ground.release;
    match anchor {
        Anchor::Release => release,
        Anchor::Deadline => {
            let at = release.saturating_add(ground.players[target].local).saturating_sub(player.local);
            // Later messages of the same channel follow at its interval; the one that is due then
            // is some message.
            let interval = player.spec.min_interval;
            at.saturating_sub(interval.saturating_mul(at.saturating_since(release).div_ceil(interval)))
        }
        Anchor::Meeting => {
            let own = &ground.players[target].reach;
            let common = |(station, after): &(usize, Span)| {
                let (_, there) = own.iter().find(|(other, _)| other == station)?;
                Some((*there, *after))
            };
            let common: Vec<(Span, Span)> = player.reach.iter().filter_map(common).collect();
            let Some(&(there, after)) = common.get(random.below(common.len().max(1) as u64) as usize) else {
                return release;
            };
            let just_before = Span::from_ps(random.below(2));
            release.saturating_add(there).saturating_sub(after).saturating_sub(just_before)
        }
        Anchor::Anywhere => {
            let earlier = Span::from_ps(random.below(player.spec.min_interval.as_ps()));
            release.saturating_sub(earlier)
        }
    }
}

/// Largest messages, one of them at `at`, or a `burst` of them: before that at the longest interval of the
/// contract's limits, so that all of them allow the burst, and then at `I_min`.
fn regular(player: &Player, at: Time, before: bool, burst: u32, length: Span) -> Play {
    let interval = player.spec.min_interval;
    let longest = player.limits.iter().map(|limit| limit.min_interval).fold(interval, Span::max);
    let earlier = if before { at.since(Time::ZERO).div_floor(longest) } else { 0 };
    let end = Time::ZERO + length;
    let earlier = (1..=earlier).rev().map(|k| at.saturating_sub(longest.saturating_mul(k)));
    let later = (0u64..).map(|k| at.saturating_add(interval.saturating_mul(k)));
    let times = earlier.chain(later).take_while(|time| *time < end);
    let further = |time: Time| if time == at { burst as usize } else { 1 };
    let times = times.flat_map(|time| std::iter::repeat_n(time, further(time)));
    let mut messages: Vec<Arrival> = times.map(|at| Arrival { at, size: player.spec.max_message }).collect();
    fit(&mut messages, &player.spec, player.limits, length);
    Play::Script(Arc::from(messages))
}

fn best_effort(ground: &Ground, channel: usize, length: Span, random: &mut Stream) -> Play {
    let player = &ground.players[channel];
    let largest = player.spec.max_message;
    let smallest = player.spec.min_message;
    match random.below(6) {
        0..=2 => ground.flood(channel, largest, length),
        3 => {
            let size = if random.below(2) == 0 { smallest } else { player.block.max(smallest) };
            ground.flood(channel, size, length)
        }
        4 => {
            let at = ground.release.saturating_sub(Span::from_ps(random.below(2)));
            let size = if random.below(2) == 0 { largest } else { player.block.max(smallest) };
            Play::Script(Arc::from([Arrival { at, size }]))
        }
        _ => Play::silence(),
    }
}

/// Offsets of the grid of a small space: scenes in which every channel but the target releases
/// `offset` before the critical instant or after it, for all combinations of `points` offsets.
pub(super) fn grid(ground: &Ground, target: usize, points: u64, number: u64) -> Scene {
    let mut scene = ground.empty(target);
    let bound = ground.players[target].bound.unwrap_or(Span::ZERO);
    let mut rest = number;
    for (channel, player) in free(ground) {
        if channel == target {
            scene.plays[channel] = regular(player, ground.release, false, 1, scene.length);
            continue;
        }
        let place = rest % points;
        rest /= points;
        // From one bound before the release to half of one after it; the middle third around the
        // release itself.
        let earliest = ground.release.saturating_sub(bound);
        let width = bound + bound / 2;
        let at = match place.checked_sub(3) {
            None => (ground.release + Span::from_ps(1)).saturating_sub(Span::from_ps(place)),
            Some(place) => earliest + width.scale_floor(place, (points - 3).max(1)),
        };
        scene.plays[channel] = if player.real_time {
            regular(player, at, false, 1, scene.length)
        } else {
            let size = player.spec.max_message;
            Play::Script(Arc::from([Arrival { at, size }]))
        };
    }
    scene
}

/// The number of scenes of the grid of `points` offsets; `None` beyond `most`.
pub(super) fn grid_size(ground: &Ground, points: u64, most: u64) -> Option<u64> {
    let others = free(ground).count().saturating_sub(1);
    points.checked_pow(u32::try_from(others).ok()?).filter(|size| *size <= most)
}

/// A size that matters: an end of the contract, whole packets, or a tail of one byte.
pub(super) fn size(player: &Player, packet: Bytes, random: &mut Stream) -> Bytes {
    let (least, most) = (player.spec.min_message, player.spec.max_message);
    let whole = Bytes::new(packet.get() * (1 + random.below(most.get().div_ceil(packet.get()))));
    let size = match random.below(6) {
        0 | 1 => most,
        2 => least,
        3 => whole,
        4 => whole + Bytes::new(1),
        _ => player.block,
    };
    size.clamp(least, most)
}
