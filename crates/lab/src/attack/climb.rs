//! One climb: a scene that is changed, and stays changed if it is no better for the channel under
//! attack.
//!
//! Changes that make no difference are kept too. The landscape has plateaus as wide as a block is
//! long, and a climb that only ever took steps upwards would never leave one.

use laxity_engine::Stream;
use laxity_units::{Span, Time};

use super::change::{Knowledge, change};
use super::ground::{Goal, Ground, Player, Target};
use super::opening;
use super::scene::{Play, Scene};
use super::sight::Sight;

/// Steps without progress after which a climb begins elsewhere.
const PATIENCE: u64 = 240;
/// The number of changes kept without a worse response after which a scene is traced again.
const LOOKS: u64 = 12;

/// The worst known of one target, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Worst {
    pub(super) response: Span,
    pub(super) scene: Scene,
}

/// A climb that can be left and taken up again.
#[derive(Debug)]
pub(super) struct Climb {
    ground: Ground,
    /// The place among the targets of the ground.
    pub(super) target: usize,
    /// The channel of which a message is critical.
    leader: usize,
    random: Stream,
    scene: Scene,
    score: Option<Span>,
    sight: Option<(Sight, (Time, Time))>,
    stale: u64,
    kept: u64,
    /// Per target: the worst response in this climb, whichever was its own.
    pub(super) met: Vec<Option<Worst>>,
}

impl Climb {
    pub(super) fn new(ground: &Ground, target: usize, mut random: Stream) -> Self {
        let met = vec![None; ground.targets.len()];
        let (ground, leader) = ground.against(&ground.targets[target]);
        let scene = opening::draw(&ground, leader, &mut random);
        Self { ground, target, leader, random, scene, score: None, sight: None, stale: 0, kept: 0, met }
    }

    fn opening(&mut self) -> Scene {
        opening::draw(&self.ground, self.leader, &mut self.random)
    }

    /// Takes `steps` steps, as long as `go_on` returns true; returns the number of steps taken.
    pub(super) fn go(&mut self, steps: u64, go_on: &(dyn Fn() -> bool + Sync)) -> u64 {
        for step in 0..steps {
            if !go_on() {
                return step;
            }
            if self.score.is_none() {
                self.score = self.try_out(&self.scene.clone(), go_on);
                if self.score.is_none() {
                    self.scene = self.opening();
                }
                continue;
            }
            self.step(go_on);
        }
        steps
    }

    /// Plays scene `number` of the grid of `points` offsets.
    pub(super) fn grid(&mut self, points: u64, number: u64, go_on: &dyn Fn() -> bool) {
        let scene = opening::grid(&self.ground, self.leader, points, number);
        self.try_out(&scene, go_on);
    }

    fn step(&mut self, go_on: &dyn Fn() -> bool) {
        let mut scene = self.scene.clone();
        self.watch(go_on);
        // Without a sight the time is over.
        let Some((sight, critical)) = self.sight.as_ref() else { return };
        let known = Knowledge { ground: &self.ground, target: self.leader, sight, critical: *critical };
        for _ in 0..1 + self.random.below(3) {
            change(&mut scene, &known, &mut self.random);
        }
        if scene == self.scene {
            self.stale += 1;
            return;
        }
        let score = self.score.unwrap_or(Span::ZERO);
        let Some(response) = self.try_out(&scene, go_on).filter(|response| *response >= score) else {
            self.stale += 1;
            return;
        };
        self.kept += 1;
        self.stale = if response > score { 0 } else { self.stale + 1 };
        if response > score || self.kept.is_multiple_of(LOOKS) {
            self.sight = None;
        }
        (self.scene, self.score) = (scene, Some(response));
    }

    /// Watches a run of the scene, unless one is known.
    fn watch(&mut self, go_on: &dyn Fn() -> bool) {
        if self.sight.is_none() {
            let channel = self.ground.targets[self.target].channel;
            let Some(sight) = self.ground.watch(&self.scene, channel, go_on) else { return };
            let critical = self.ground.critical(&self.scene, &sight, channel);
            self.sight = Some((sight, critical));
        }
    }

    /// The target's longest response in `scene`, unless the run is given up; responses of other
    /// channels are recorded.
    fn try_out(&mut self, scene: &Scene, go_on: &dyn Fn() -> bool) -> Option<Span> {
        let responses = self.ground.play(scene, go_on)?;
        for (met, response) in self.met.iter_mut().zip(&responses) {
            let known = met.as_ref().map(|worst| worst.response);
            if let Some(response) = *response
                && known.is_none_or(|known| response > known)
            {
                *met = Some(Worst { response, scene: scene.clone() });
            }
        }
        Some(responses[self.target].unwrap_or(Span::ZERO))
    }

    /// Goes on with `scene`.
    pub(super) fn take_up(&mut self, scene: Scene) {
        (self.scene, self.score, self.sight, self.stale) = (scene, None, None, 0);
    }

    /// Whether the worst of all climbs, `response`, is worse than this climb's present one.
    pub(super) fn is_behind(&self, response: Span) -> bool {
        self.score.is_none_or(|score| score < response)
    }

    /// Between rounds: a climb that is stuck begins elsewhere, at times from what is `known` of
    /// channels alike.
    pub(super) fn restart(&mut self, known: &[Option<Worst>]) {
        if self.stale < PATIENCE {
            return;
        }
        let (targets, players) = (&self.ground.targets, &self.ground.players);
        let own = targets[self.target];
        let is_alike = |other: Target| {
            let same = other.goal == own.goal && own.goal != Goal::Exchange;
            same && are_alike(&players[other.channel], &players[own.channel])
        };
        let alike: Vec<usize> = (0..targets.len())
            .filter(|&other| known[other].is_some())
            .filter(|&other| other == self.target || is_alike(targets[other]))
            .collect();
        let scene = match self.random.below(2) {
            0 if !alike.is_empty() => {
                let other = alike[self.random.below(alike.len() as u64) as usize];
                let worst = known[other].as_ref().expect("it was asked for");
                let [other, own] =
                    [other, self.target].map(|target| self.ground.sender(targets[target].channel));
                exchanged(&self.ground, &worst.scene, other, own)
            }
            _ => self.opening(),
        };
        self.take_up(scene);
    }
}

/// Whether two channels may exchange their traffic in a scene.
fn are_alike(one: &Player, other: &Player) -> bool {
    one.spec == other.spec && one.rounds.is_none() && other.rounds.is_none()
}

/// `scene` with the parts of two channels of the same contract exchanged, and the target's own length.
fn exchanged(ground: &Ground, scene: &Scene, one: usize, other: usize) -> Scene {
    let mut plays: Vec<Play> = scene.plays.clone();
    plays.swap(one, other);
    let length = scene.length.max(ground.length(other));
    Scene { plays, length }
}
