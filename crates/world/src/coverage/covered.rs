//! Whether a station is covered, by which analysis, or why not.

use std::sync::Arc;

use laxity_admission::station::{Link, Method, Rated};
use laxity_admission::{ResourceModel, Test};
use laxity_qos::channel::Order;
use laxity_qos::costs::LinkCosts;
use laxity_qos::discipline::{Class, LEVELS};
use laxity_units::Span;

use super::fifo::queue;
use super::reason::Uncovered;
use crate::experiment::Experiment;

/// The stations that an analysis covers by their policies: the nodes, then the ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// The analyses of each, which compete (`promise::analyses`): one at least, the preferred first.
    /// Or why there is none.
    pub(crate) stations: Vec<Result<Vec<Covered>, Uncovered>>,
    /// Impairments of each network that no analysis bounds where frames arrive.
    pub(crate) networks: Vec<Result<(), Uncovered>>,
}

/// An analysis that covers a station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Covered {
    /// How CPU and link are shared.
    pub(crate) model: ResourceModel,
    /// Its adapter, or the link behind a port.
    pub(crate) link: Link,
    /// Those of further adapters of a host, by their links.
    pub(crate) further: Vec<Link>,
    /// The link is rate-based, in this order; at a port all other fields but the link are then
    /// unused.
    pub(crate) rates: Option<Order>,
    /// Stages by rates that have each packet as it is made.
    pub(crate) row: Option<Row>,
    /// CPU and link both go by fixed priorities, else both by EDF.
    pub(crate) by_level: bool,
    /// Distinct priorities of guaranteed channels; `None` for EDF, which needs none.
    pub(crate) levels: Option<u32>,
    /// Its bounds hold in whatever order the adapter takes packets.
    pub(crate) any_order: bool,
    /// Real time is served before best effort as it arrives, in any order.
    pub(crate) unheld: bool,
    /// Handlers work ahead of time.
    pub(crate) ahead: bool,
    /// Packets with the adapter, at most.
    pub(crate) depth: u32,
    /// Why its adapter holds packets that it could send, if it does.
    pub(crate) holding: Option<Holding>,
}

/// A reason for which an adapter holds packets that it could send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holding {
    /// Launch times of real-time packets, this long after their logical arrivals.
    Launch(Span),
    /// Credit-based shapers.
    Shapers,
}

/// The properties by which the analyses of a station differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoveredBy {
    /// How CPU and link are shared.
    pub model: ResourceModel,
    /// Bounds hold in whatever order the adapter takes packets.
    pub any_order: bool,
    /// How packets in the window of an adapter are charged, if it has one.
    pub method: Option<Method>,
}

/// The stages by rates of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) rated: Arc<Rated>,
    /// Best effort with a rate goes by it there.
    pub(crate) shared: bool,
}

impl Covered {
    /// A station with one `link` behind a CPU, both by the same order: fixed priorities, or EDF.
    pub(super) fn of(model: ResourceModel, link: LinkCosts, by_level: bool) -> Self {
        Self {
            model,
            link: link.into(),
            further: Vec::new(),
            rates: None,
            row: None,
            by_level,
            // The last level is best effort's.
            levels: by_level.then_some(LEVELS as u32 - 1),
            any_order: false,
            unheld: false,
            ahead: false,
            depth: 1,
            holding: None,
        }
    }

    /// Its adapters, by their links.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::once(&self.link).chain(&self.further)
    }

    pub(crate) fn by(&self) -> CoveredBy {
        let method = match &self.link {
            Link::Behind(behind) => Some(behind.method()),
            Link::Alone(_) | Link::Open(_) => None,
        };
        CoveredBy { model: self.model, any_order: self.any_order, method }
    }

    /// The test that decides at the station where the file asks for `test`: the demand test is about
    /// EDF, so `D_order` decides where channels have levels.
    pub(crate) fn test(&self, test: Test) -> Test {
        match self.levels {
            _ if self.holding.is_some() => Test::Demand,
            Some(_) => Test::DOrder,
            None => test,
        }
    }

    /// A host with this analysis searches the least deadline by attempts.
    pub(crate) fn searches(&self) -> bool {
        self.holding.is_some() || self.rates.is_some() || self.row.is_some() || self.is_levelled()
    }

    /// The CPU goes by fixed priorities and its link by deadlines.
    pub(crate) fn is_levelled(&self) -> bool {
        match self.model {
            ResourceModel::ApartByThread => true,
            model => model == ResourceModel::Apart && self.rates.is_none(),
        }
    }
}

impl Coverage {
    /// The analyses of `station`, the preferred first.
    pub(crate) fn of(&self, station: usize) -> Result<&[Covered], Uncovered> {
        self.stations[station].as_deref().map_err(|why| *why)
    }

    /// The preferred one.
    pub(crate) fn first(&self, station: usize) -> Result<&Covered, Uncovered> {
        Ok(self.of(station)?.first().expect("a station that is covered has an analysis"))
    }

    /// The one with these properties; without them, the preferred one.
    pub(crate) fn with(&self, station: usize, by: Option<CoveredBy>) -> Result<&Covered, Uncovered> {
        let found = self.of(station)?.iter().find(|covered| Some(covered.by()) == by);
        found.map_or_else(|| self.first(station), Ok)
    }

    /// Leaves to `station` the analyses that pass `check`; if none does, there is none because of the
    /// first.
    pub(crate) fn keep(&mut self, station: usize, check: impl Fn(&Covered) -> Result<(), Uncovered>) {
        let Ok(all) = &mut self.stations[station] else { return };
        let mut first = None;
        all.retain(|covered| match check(covered) {
            Ok(()) => true,
            Err(why) => {
                first.get_or_insert(why);
                false
            }
        });
        if let (true, Some(why)) = (all.is_empty(), first) {
            self.stations[station] = Err(why);
        }
    }

    /// Takes the analyses from `station`.
    pub(crate) fn withdraw(&mut self, station: usize, why: Uncovered) {
        self.stations[station] = Err(why);
    }

    /// `stations`, of which those that hear from one without a bound have none either, for the same
    /// reason: see the module.
    pub(crate) fn spread<T>(
        &self,
        experiment: &Experiment,
        mut stations: Vec<Result<T, Uncovered>>,
    ) -> Vec<Result<T, Uncovered>> {
        loop {
            let mut spreads = false;
            for channel in &experiment.channels {
                for (hop, way) in channel.route.windows(2).zip(&channel.ways) {
                    let (from, to) = (hop[0], hop[1]);
                    let late = stations[from].as_ref().err().filter(|_| channel.class == Class::RealTime);
                    let why = match (&stations[to], self.networks[*way], late) {
                        (Ok(_), Err(why), _) => why,
                        (Ok(_), Ok(()), Some(why)) => match queue(experiment, from) {
                            // `promise/fifo.rs` takes the bound from stations that it feeds late.
                            Some(Ok(())) => continue,
                            Some(Err(of_queue)) => of_queue,
                            None => *why,
                        },
                        _ => continue,
                    };
                    (stations[to], spreads) = (Err(why), true);
                }
            }
            if !spreads {
                return stations;
            }
        }
    }
}
