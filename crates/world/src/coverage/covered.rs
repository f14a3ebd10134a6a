//! Whether a station is covered, by which analysis, or why not.

use std::sync::Arc;

use laxity_admission::station::{Link, Rated};
use laxity_admission::{ResourceModel, Test};
use laxity_qos::channel::Order;
use laxity_qos::discipline::Class;

use super::reason::Uncovered;
use crate::experiment::Experiment;

/// The stations that an analysis covers by their policies: the nodes, then the ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// How each is analysed, or why not.
    pub(crate) stations: Vec<Result<Covered, Uncovered>>,
    /// Impairments of each network that no analysis bounds where frames arrive.
    pub(crate) networks: Vec<Result<(), Uncovered>>,
}

/// The analysis that covers a station.
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
    /// Handlers work ahead of time.
    pub(crate) ahead: bool,
    /// Packets with the adapter, at most.
    pub(crate) depth: u32,
}

/// The stages by rates of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) rated: Arc<Rated>,
    /// Best effort with a rate goes by it there.
    pub(crate) shared: bool,
}

impl Covered {
    /// The test that decides at the station where the file asks for `test`: the demand test is about
    /// EDF, so `D_order` decides where channels have levels.
    pub(crate) fn test(&self, test: Test) -> Test {
        if self.levels.is_some() { Test::DOrder } else { test }
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
    /// `stations`, of which those that hear from one without a bound have none either: see the
    /// module.
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
                    let late = channel.class == Class::RealTime && stations[from].is_err();
                    let why = match (&stations[to], self.networks[*way]) {
                        (Ok(_), Err(why)) => why,
                        (Ok(_), Ok(())) if late => Uncovered::Unkept,
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
