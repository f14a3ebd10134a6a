//! Admission of virtual interfaces, one after the other in the order of the file.
//!
//! A virtual interface is admitted if with it every server at both its ends still has finite busy
//! periods, and every channel admitted before keeps its requested deadline, if it has one. The
//! promise is a longest delay, and a jitter from it and the shortest delay. There are several sound
//! views of an adapter ([`Taken`]): a channel that one view admits is admitted, with the least
//! bound of all views.

use laxity_admission::holistic::{self, HolisticFlow, Overloaded, ServerResponse, along, responses};
use laxity_qos::discipline::Class;
use laxity_units::Span;

use super::answer::{Connection, Promise};
use crate::coverage::{Cluster, Taken, Uncovered, cluster, server_name};
use crate::experiment::{ChannelSpec, Experiment, ViaSpec};

/// Of what several have together.
const NOBODYS: usize = usize::MAX;

/// One view of a cluster, and the channels that it can admit.
struct View {
    taken: Taken,
    cluster: Cluster,
    /// Best effort, its reserved rates, and all admitted channels.
    flows: Vec<HolisticFlow>,
    /// The channel of each flow.
    whose: Vec<usize>,
    /// The longest responses to them.
    known: Result<Vec<ServerResponse>, Overloaded>,
}

impl View {
    fn of((experiment, spec): (&Experiment, &ViaSpec), way: (Taken, bool)) -> Result<Self, Uncovered> {
        let (cluster, (taken, _)) = (cluster((experiment, spec), way)?, way);
        // Where processes are told apart a silent channel delays no other.
        let counts = |i: usize| cluster.paths[i].early.is_none() || cluster.paths[i].flow.slots.count > 0;
        let without = |i: &usize| experiment.channels[*i].class == Class::BestEffort && counts(*i);
        let mut whose: Vec<usize> = (0..experiment.channels.len()).filter(without).collect();
        let mut flows: Vec<HolisticFlow> = whose.iter().map(|i| cluster.paths[*i].flow.clone()).collect();
        whose.extend(cluster.shared.iter().map(|_| NOBODYS));
        flows.extend(cluster.shared.iter().cloned());
        let known = responses(&cluster.servers, &flows, &[]);
        Ok(Self { taken, cluster, flows, whose, known })
    }

    /// Its flows and channel `i`'s, and the channel of each.
    fn beside(&self, i: usize) -> (Vec<HolisticFlow>, Vec<usize>) {
        let flows = self.flows.iter().chain([&self.cluster.paths[i].flow]).cloned().collect();
        (flows, self.whose.iter().copied().chain([i]).collect())
    }

    /// The responses with `flows`, of which it has all but the last.
    fn with(&self, flows: &[HolisticFlow]) -> Result<Vec<ServerResponse>, Overloaded> {
        let start = self.known.as_ref().map_err(|overloaded| *overloaded)?;
        responses(&self.cluster.servers, flows, start)
    }

    /// The longest delay of channel `i`, if these are the responses to `flows`; none if its
    /// doorbells may be found to exceed its bandwidth.
    fn longest(
        &self,
        i: usize,
        (flows, whose): (&[HolisticFlow], &[usize]),
        responses: &[ServerResponse],
    ) -> Option<Span> {
        let path = &self.cluster.paths[i];
        let server_of = |k: usize| path.flow.stages[k].server;
        let way = path.critical.iter().map(|k| responses[server_of(*k)].urgent);
        let by_visits = way.fold(Span::ZERO, Span::saturating_add);
        let longest = match path.early {
            None => by_visits,
            Some((rung_after, interval)) => {
                let spread = responses[server_of(rung_after)].urgent;
                if spread.saturating_sub(path.flow.stages[rung_after].least) > interval {
                    return None;
                }
                let place = whose.iter().position(|other| *other == i)?;
                let servers = &self.cluster.servers;
                let whole = match self.taken {
                    Taken::Apart => along(servers, flows, responses, place, &path.critical),
                    Taken::ToAndFro | Taken::Whole => None,
                };
                whole.map_or(by_visits, |whole| whole.min(by_visits))
            }
        };
        let longest = longest.saturating_add(path.wire).saturating_sub(path.taken_back);
        // An early message waits until its playout in its program's memory, delays no other
        // message, and then waits for the program to see it.
        Some(match (path.playout, path.critical.last()) {
            (Some(playout), Some(seen)) => {
                longest.max(playout.saturating_add(responses[server_of(*seen)].urgent))
            }
            _ => longest,
        })
    }
}

/// The admitted channels of a cluster so far.
struct Admitted<'a> {
    experiment: &'a Experiment,
    views: Vec<View>,
    channels: Vec<usize>,
}

impl<'a> Admitted<'a> {
    fn nobody(experiment: &'a Experiment, spec: &ViaSpec) -> Result<Self, Uncovered> {
        let view = |way| View::of((experiment, spec), way);
        let views = Taken::ways(experiment).map(view).collect::<Result<_, _>>()?;
        Ok(Self { experiment, views, channels: Vec::new() })
    }

    /// Admits the channels before `i`, as far as possible.
    fn admit_before(&mut self, i: usize) {
        for k in (0..i).filter(|k| self.experiment.channels[*k].class == Class::RealTime) {
            // A refused channel delays no other.
            let _ = self.admit(k);
        }
    }

    /// The responses with channel `i`, too, in each view; or why it is refused.
    fn ask(&self, i: usize) -> Result<Vec<Result<Vec<ServerResponse>, Overloaded>>, String> {
        let (experiment, views, channels) = (self.experiment, &self.views, &self.experiment.channels);
        let asked: Vec<(Vec<HolisticFlow>, Vec<usize>)> = views.iter().map(|view| view.beside(i)).collect();
        let with = |(view, (flows, _)): (&View, &(Vec<HolisticFlow>, Vec<usize>))| view.with(flows);
        let found: Vec<Result<Vec<ServerResponse>, Overloaded>> =
            views.iter().zip(&asked).map(with).collect();
        // The least that any of them answers.
        let least = |k: usize| {
            let answers = views.iter().zip(&asked).zip(&found);
            let longest = answers.filter_map(|((view, (flows, whose)), found)| {
                view.longest(k, (flows, whose), found.as_ref().ok()?)
            });
            longest.min()
        };
        let late = |k: &usize| channels[*k].deadline.zip(least(*k)).is_some_and(|(due, may)| may > due);
        let refused = match least(i) {
            None => {
                // Of the views that had a result without the channel, the nearest one says what is
                // short.
                let able = views.iter().any(|view| view.known.is_ok());
                let alone = if able { "" } else { "with best effort alone " };
                let short = |(view, found): (&View, &Result<Vec<ServerResponse>, Overloaded>)| {
                    let overloaded = found.as_ref().err().filter(|_| view.known.is_ok() || !able)?;
                    Some((view.taken, *overloaded))
                };
                let closest = views.iter().zip(&found).filter_map(short).min_by(|(_, a), (_, b)| {
                    a.endless.cmp(&b.endless).then(a.utilisation.total_cmp(&b.utilisation))
                });
                // A view that has an answer with the channel finds it too late at its program.
                let answered = views.iter().zip(&found).any(|(_, found)| found.is_ok());
                Some(match closest.filter(|_| !answered) {
                    Some((taken, short)) => format!("{alone}{}", overloaded(experiment, taken, short)),
                    None => {
                        "its program may be so late that a message is found to exceed its bandwidth".into()
                    }
                })
            }
            Some(longest) if late(&i) => {
                let due = channels[i].deadline.unwrap_or(Span::ZERO);
                Some(format!("its messages may take {longest}, and {due} is asked for"))
            }
            Some(_) => self.channels.iter().copied().find(|k| late(k) || least(*k).is_none()).map(|other| {
                let what = if late(&other) { "deadline" } else { "contract" };
                format!("with it `{}` could not keep its {what}", channels[other].name)
            }),
        };
        refused.map_or(Ok(found), Err)
    }

    /// Admits channel `i`, or says why not.
    fn admit(&mut self, i: usize) -> Result<(), String> {
        let found = self.ask(i)?;
        for (view, found) in self.views.iter_mut().zip(found) {
            view.flows.push(view.cluster.paths[i].flow.clone());
            view.whose.push(i);
            view.known = found;
        }
        self.channels.push(i);
        Ok(())
    }
}

/// The channels before a refused one, and whether others in its place would be admitted beside
/// them. The channels before are not admitted again, as long as their results stay the same.
pub(super) struct Before<'a> {
    admitted: Admitted<'a>,
    spec: &'a ViaSpec,
    i: usize,
}

impl<'a> Before<'a> {
    pub(super) fn of(experiment: &'a Experiment, spec: &'a ViaSpec, i: usize) -> Option<Self> {
        let mut admitted = Admitted::nobody(experiment, spec).ok()?;
        admitted.admit_before(i);
        Some(Self { admitted, spec, i })
    }

    /// Whether `channel` would be.
    pub(super) fn fits(&self, channel: ChannelSpec) -> bool {
        let (i, before) = (self.i, &self.admitted);
        let mut changed = before.experiment.clone();
        changed.channels[i] = channel;
        let Ok(mut asked) = Admitted::nobody(&changed, self.spec) else { return false };
        let alike = |(view, then): (&View, &View)| {
            view.cluster.servers == then.cluster.servers
                && view.flows.len() + before.channels.len() == then.flows.len()
                && view.flows[..] == then.flows[..view.flows.len()]
                && before.channels.iter().all(|k| view.cluster.paths[*k] == then.cluster.paths[*k])
        };
        if asked.views.iter().zip(&before.views).all(alike) {
            for (view, then) in asked.views.iter_mut().zip(&before.views) {
                (view.flows, view.known) = (then.flows.clone(), then.known.clone());
                view.whose.clone_from(&then.whose);
            }
            asked.channels.clone_from(&before.channels);
        } else {
            asked.admit_before(i);
        }
        asked.ask(i).is_ok()
    }
}

/// The promise to each channel of `experiment`.
pub(super) fn connections(experiment: &Experiment, spec: &ViaSpec) -> Result<Vec<Promise>, Uncovered> {
    let mut admitted = Admitted::nobody(experiment, spec)?;
    let channels = &experiment.channels;
    let mut promises = vec![Promise::BestEffort; channels.len()];
    for (i, _) in channels.iter().enumerate().filter(|(_, channel)| channel.class == Class::RealTime) {
        if let Err(reason) = admitted.admit(i) {
            promises[i] = Promise::Unconnected(reason);
        }
    }
    let Admitted { views, channels: admitted, .. } = admitted;
    for i in admitted {
        let answers = views
            .iter()
            .filter_map(|view| view.longest(i, (&view.flows, &view.whose), view.known.as_ref().ok()?));
        let longest = answers.min().expect("somebody admitted it");
        let shortest = views[0].cluster.paths[i].shortest;
        let spread = longest.saturating_sub(shortest).as_secs_f64();
        let jitter_fraction = spread / spec.least_interval(i, &channels[i]).as_secs_f64();
        promises[i] = Promise::Connected(Connection { longest, shortest, jitter_fraction });
    }
    Ok(promises)
}

fn overloaded(
    experiment: &Experiment,
    taken: Taken,
    Overloaded { server, utilisation, searches, endless }: Overloaded,
) -> String {
    let name = server_name(experiment, taken, server);
    let percent = utilisation * 100.0;
    if endless {
        return format!("best effort, which is not limited there, may keep {name} busy without end");
    }
    match utilisation >= 1.0 {
        true => {
            let percent = (percent.floor() + 1.0).max(101.0);
            format!("{name} cannot do in time what would be asked of it ({percent} % of its time)")
        }
        false => {
            let searches = if searches { ", without its searches of queues" } else { "" };
            format!(
                "{name} is asked for {percent:.0} % of its time{searches}, but requests may come in such bursts \
                 that no bound below {} is found",
                holistic::LIMIT
            )
        }
    }
}
