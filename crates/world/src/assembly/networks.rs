//! The networks between nodes: medium access, and the impairments of frames on their path.
//!
//! Nodes and networks do not know each other's numbers. An adapter is at one shared medium at most,
//! which numbers its own stations. A private link needs no access and is here only for its
//! impairments.

use std::collections::BTreeMap;

use laxity_model::adapter::MediumAccess;
use laxity_model::network::{ImpairmentCounts, Impairments, Medium};
use laxity_model::node::HostNode;
use laxity_qos::channel::LinkId;
use laxity_units::{Span, Time};

use super::parts;
use crate::experiment::{Experiment, MediumSpec};

/// All networks of an experiment.
pub(super) struct Networks {
    /// Per network: the medium that its nodes share.
    media: Vec<Option<Shared>>,
    /// Per node and link: the network of the shared medium, and the station's number there.
    places: Vec<Vec<Option<(usize, usize)>>>,
    /// Whether any medium is shared; if not, frames need no look-up.
    shares: bool,
    /// Impairments of a link that a frame has passed.
    impairments: BTreeMap<Link, Impairments>,
    /// Media that may have output.
    touched: Vec<usize>,
    /// Media that had output and have to be polled for their next deadline.
    called: Vec<usize>,
}

/// The output of a medium.
pub(super) enum Told {
    /// An adapter of a node has the medium, or has it no more.
    Access((usize, LinkId), MediumAccess),
    /// The medium may want to be called at another time than before, and when.
    Called(usize, Option<Time>),
}

/// A network, and the nodes at both ends; one for all links of a network without a name.
type Link = (usize, Option<(usize, usize)>);

struct Shared {
    medium: Medium,
    /// The node of each station.
    members: Vec<usize>,
    /// The link by which it is there.
    links: Vec<LinkId>,
    /// Whether it is among the touched.
    touched: bool,
}

impl Networks {
    /// The networks of `experiment`; sets the networks' parameters in its nodes.
    pub(super) fn new(experiment: &Experiment, nodes: &mut [HostNode]) -> Self {
        let mut places: Vec<_> = nodes.iter().map(|node| vec![None; node.adapters().count()]).collect();
        let mut media = Vec::new();
        for (number, network) in experiment.networks.iter().enumerate() {
            if network.medium == MediumSpec::PointToPoint {
                media.push(None);
                continue;
            }
            let links = network.members.iter().map(|node| experiment.link_to(*node, number));
            let links: Vec<LinkId> = links.collect();
            for (station, (node, link)) in network.members.iter().zip(&links).enumerate() {
                places[*node][usize::from(link.0)] = Some((number, station));
            }
            let medium = parts::medium(experiment, network);
            media.push(Some(Shared { medium, members: network.members.clone(), links, touched: true }));
        }
        for (node, places) in nodes.iter_mut().zip(&places) {
            for (link, place) in (0..).map(LinkId).zip(places) {
                match place.and_then(|(network, _)| media[network].as_ref()) {
                    Some(shared) => node.pad_frames_to(link, shared.medium.shortest_frame()),
                    None => {
                        node.pad_frames_to(link, Span::ZERO);
                        node.own_the_link(link);
                    }
                }
            }
        }
        // Whatever happens by itself, as a token that goes round, begins.
        let touched = (0..media.len()).filter(|network| media[*network].is_some()).collect();
        let shares = media.iter().any(Option::is_some);
        Self { impairments: BTreeMap::new(), media, places, shares, touched, called: Vec::new() }
    }

    #[inline]
    fn tell(&mut self, (node, link): (usize, LinkId), what: impl FnOnce(&mut Medium, usize)) {
        if !self.shares {
            return;
        }
        let Some((network, station)) = self.places[node][usize::from(link.0)] else { return };
        self.touch(network, |medium| what(medium, station));
    }

    fn touch(&mut self, network: usize, what: impl FnOnce(&mut Medium)) {
        let Some(shared) = &mut self.media[network] else { return };
        what(&mut shared.medium);
        if !shared.touched {
            shared.touched = true;
            self.touched.push(network);
        }
    }

    /// A frame of a node's adapter is ready.
    pub(super) fn request(&mut self, now: Time, adapter: (usize, LinkId)) {
        self.tell(adapter, |medium, station| medium.request(now, station));
    }

    /// It no longer is.
    pub(super) fn withdraw(&mut self, now: Time, adapter: (usize, LinkId)) {
        self.tell(adapter, |medium, station| medium.withdraw(now, station));
    }

    /// The last bit of a frame has left the adapter; whether more wait behind it.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, adapter: (usize, LinkId), more: bool) {
        self.tell(adapter, |medium, station| medium.sent(now, station, more));
    }

    /// The timer of a medium has expired.
    pub(super) fn timer(&mut self, now: Time, network: usize) {
        self.touch(network, |medium| medium.timer(now));
    }

    /// Whether a medium may have output.
    #[inline]
    pub(super) fn is_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// The output of media, then their next deadlines.
    #[inline]
    pub(super) fn poll(&mut self) -> Option<Told> {
        while let Some(&network) = self.touched.last() {
            let shared = self.media[network].as_mut().expect("what was touched is a medium");
            if let Some(output) = shared.medium.poll_output() {
                let station = output.station();
                return Some(Told::Access((shared.members[station], shared.links[station]), output.into()));
            }
            shared.touched = false;
            self.touched.pop();
            if self.touched.is_empty() && self.called.is_empty() {
                return Some(Told::Called(network, shared.medium.next_deadline()));
            }
            self.called.push(network);
        }
        let network = self.called.pop()?;
        let deadline = self.media[network].as_ref().and_then(|shared| shared.medium.next_deadline());
        Some(Told::Called(network, deadline))
    }

    /// The impairments of frames over `network` from one node to another, if there are any.
    #[inline]
    pub(super) fn impairments(
        &mut self,
        experiment: &Experiment,
        network: usize,
        ends: (usize, usize),
    ) -> Option<&mut Impairments> {
        let spec = &experiment.networks[network];
        if spec.impairments == Default::default() {
            return None;
        }
        let link = (network, spec.name.is_some().then_some(ends));
        Some(self.impairments.entry(link).or_insert_with(|| parts::impairments(experiment, spec, link.1)))
    }

    /// Impairments of frames on all networks.
    pub(super) fn counts(&self) -> ImpairmentCounts {
        self.impairments.values().map(Impairments::counts).fold(Default::default(), |all, one| all + one)
    }

    /// The media that nodes share, with the nodes at them.
    pub(super) fn media(&self) -> impl Iterator<Item = (&Medium, &[usize])> {
        self.media.iter().flatten().map(|shared| (&shared.medium, &shared.members[..]))
    }
}
