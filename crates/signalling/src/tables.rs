//! A node with its link and CPU promised by the admission tables of `laxity_admission`.
//!
//! One table for each link of the node holds that link and the CPU ([`AdmissionTable`]). A channel
//! that leaves by one link takes the CPU in the tables of the others too, and so does a channel
//! that ends here. Receive places are counted, as in [`crate::exact`].
//!
//! A tentative reservation is admitted at the least deadline of the table. Commitment relaxes the
//! deadline in place ([`AdmissionTable::relax`]), which no other channel depends on.

use std::collections::BTreeMap;

use laxity_admission::{
    AdmissionId, AdmissionRefusal, AdmissionTable, Decision, Deficit, Environment, EnvironmentError, Request,
    Scarce as Tabled,
};
use laxity_qos::channel::Role;
use laxity_qos::traffic::TrafficSpec;
use laxity_units::{Bytes, Span};

use crate::contract::{ChannelContract, QuotaClaim};
use crate::identity::{NodeId, Port};
use crate::refusal::{Alternative, NodeResource, Shortage};
use crate::resources::{NodeRequest, Offer, ReservationId, Resources};

/// All of a resource.
const MILLIONTHS: u64 = 1_000_000;

/// A node with tables.
#[derive(Debug, Clone)]
pub struct Tables {
    /// By neighbour, the table of the link and the longest time from the end of a transmission
    /// until the neighbour has the packet.
    links: BTreeMap<NodeId, (AdmissionTable, Span)>,
    places: u64,
    used: BTreeMap<Port, u64>,
    reserved: BTreeMap<ReservationId, Reserved>,
    next: u64,
}

#[derive(Debug, Clone)]
struct Reserved {
    port: Option<(Port, u64)>,
    /// The local deadline.
    deadline: Span,
    /// In the table of each link.
    ids: Vec<AdmissionId>,
}

impl Tables {
    /// A node with an empty table for each of its `links`, of which there is at least one. Each
    /// queue has `places` messages.
    ///
    /// # Errors
    /// An environment is out of range.
    pub fn new(links: BTreeMap<NodeId, (Environment, Span)>, places: u64) -> Result<Self, EnvironmentError> {
        let table = |(to, (environment, way))| Ok((to, (AdmissionTable::new(environment)?, way)));
        Ok(Self {
            links: links.into_iter().map(table).collect::<Result<_, EnvironmentError>>()?,
            places,
            used: BTreeMap::new(),
            reserved: BTreeMap::new(),
            next: 0,
        })
    }

    /// The table of the link to `neighbour`.
    pub fn table(&self, neighbour: NodeId) -> Option<&AdmissionTable> {
        self.links.get(&neighbour).map(|(table, _)| table)
    }

    fn each(&mut self) -> impl Iterator<Item = (NodeId, &mut AdmissionTable)> {
        self.links.iter_mut().map(|(to, (table, _))| (*to, table))
    }

    /// The request as the table of `link` sees a channel that leaves by `to`.
    fn seen(request: Request, to: Option<NodeId>, link: NodeId) -> Request {
        if to.is_none_or(|to| to == link) { request } else { request.by_another_link() }
    }

    /// Admits `request` at every table, or at none.
    fn admit(&mut self, request: Request, to: Option<NodeId>) -> Result<Vec<AdmissionId>, AdmissionRefusal> {
        let mut ids = Vec::new();
        let mut refused = None;
        for (link, table) in self.each() {
            match table.request(Self::seen(request, to, link)) {
                Decision::Admitted { id, .. } => ids.push(id),
                Decision::Refused(refusal) => {
                    refused = Some(refusal);
                    break;
                }
            }
        }
        match refused {
            None => Ok(ids),
            Some(refusal) => {
                self.withdraw(&ids);
                Err(refusal)
            }
        }
    }

    fn withdraw(&mut self, ids: &[AdmissionId]) {
        for ((_, table), id) in self.each().zip(ids) {
            table.release(*id);
        }
    }

    /// Strikes out a reservation that is in no table any more.
    fn forget(&mut self, id: ReservationId) {
        if let Some((port, taken)) = self.reserved.remove(&id).and_then(|reserved| reserved.port)
            && let Some(used) = self.used.get_mut(&port)
        {
            *used -= taken;
            if *used == 0 {
                self.used.remove(&port);
            }
        }
    }

    /// Reserves places of the queue alone, for a channel within the node: it takes no link, and the
    /// caller counts its CPU time.
    ///
    /// # Errors
    /// The places that are missing.
    pub fn reserve_places(&mut self, asked: &NodeRequest) -> Result<Offer, Shortage> {
        let ChannelContract { min_interval, burst, deadline, .. } = asked.contract;
        let port = self.places(asked)?;
        let (least, way) = (Span::ZERO, Span::ZERO);
        let id = self.keep(Reserved { port, deadline: least, ids: Vec::new() });
        let claim = QuotaClaim { bandwidth: 0, buffers: u64::from(burst), cpu: 0 };
        Ok(Offer { id, least, latest: min_interval.min(deadline), way, claim })
    }

    /// The places that a channel needs, if it ends here.
    fn places(&self, asked: &NodeRequest) -> Result<Option<(Port, u64)>, Shortage> {
        let (port, more) = (asked.place.port, u64::from(asked.contract.burst));
        if asked.place.to.is_some() {
            return Ok(None);
        }
        let used = self.used.get(&port).copied().unwrap_or(0);
        let missing = used.saturating_add(more).saturating_sub(self.places);
        if missing > 0 {
            let acceptable = Alternative::shorter(asked.contract.burst, missing);
            return Err(Shortage::of(NodeResource::ReceivePlaces, missing).but(acceptable));
        }
        Ok(Some((port, more)))
    }

    fn keep(&mut self, reserved: Reserved) -> ReservationId {
        let id = ReservationId(self.next);
        self.next += 1;
        if let Some((port, more)) = reserved.port {
            *self.used.entry(port).or_default() += more;
        }
        self.reserved.insert(id, reserved);
        id
    }

    /// The time that a message of `request` takes of a node.
    fn service(&mut self, request: &Request) -> Span {
        let service = self.each().find_map(|(_, table)| Some(table.service_time(request).ok()?.total()));
        service.unwrap_or_default()
    }

    /// A table's refusal as a program reads it. The manager asks for the alternative before a program does.
    fn shortage(&mut self, refusal: &AdmissionRefusal, asked: &NodeRequest, request: Request) -> Shortage {
        let resource = match refusal.resource {
            Tabled::Cpu => NodeResource::Cpu,
            Tabled::Link => NodeResource::Link,
            Tabled::Messages => NodeResource::Messages,
            Tabled::Packets => NodeResource::Packets,
            Tabled::ReceiveBuffers | Tabled::ReceiveQueue | Tabled::ResponseQueue | Tabled::ReaderSlots => {
                NodeResource::ReceivePlaces
            }
            Tabled::Deadline | Tabled::Levels => NodeResource::Deadline,
        };
        match refusal.deficit {
            Deficit::Time(span) => Shortage::of(resource, span.as_ps().max(1)).but(longer(asked, span)),
            Deficit::Share(excess) => {
                // `S / I` less what is missing is left: the interval is `S` by that.
                let service = u128::from(self.service(&request).as_ps()) * u128::from(MILLIONTHS);
                let share = service / u128::from(asked.contract.min_interval.as_ps());
                let interval = service.checked_div(share.saturating_sub(excess.into()));
                let interval = interval.and_then(|interval| u64::try_from(interval + 1).ok());
                let interval = interval.map(|ps| Alternative::Interval(Span::from_ps(ps)));
                Shortage::of(resource, excess).but(interval.unwrap_or(Alternative::Later))
            }
            Deficit::Places(places) => {
                Shortage::of(resource, places).but(Alternative::shorter(asked.contract.burst, places))
            }
            Deficit::Unbounded => Shortage::of(resource, u64::MAX),
        }
    }

    /// The least deadline at which every table admits `request`.
    fn least(&mut self, request: Request, to: Option<NodeId>) -> Result<Span, AdmissionRefusal> {
        let each = self.each().map(|(link, table)| table.least_deadline(&Self::seen(request, to, link)));
        each.collect::<Result<Vec<Span>, AdmissionRefusal>>()
            .map(|all| all.into_iter().max().unwrap_or_default())
    }
}

impl Resources for Tables {
    /// By link, what every channel of its table asked for, in the order of sizes; and the places
    /// that are used.
    type Snapshot = (Vec<Vec<(Bytes, Span, Span)>>, BTreeMap<Port, u64>);

    fn reserve(&mut self, asked: &NodeRequest) -> Result<Offer, Shortage> {
        let ChannelContract { max_message, min_message, min_interval, burst, deadline } = asked.contract;
        let spec = TrafficSpec { max_message, min_message, burst, min_interval };
        let (from, to) = (asked.place.from, asked.place.to);
        let way = match to.map(|to| self.links.get(&to)) {
            None => Span::ZERO,
            Some(Some((_, way))) => *way,
            Some(None) => return Err(Shortage::of(NodeResource::Route, 1)),
        };
        let role = match (from, to) {
            (_, None) => Role::Receive,
            (None, _) => Role::Send,
            (Some(_), _) => Role::Relay,
        };
        let latest = min_interval.min(deadline);
        let request = Request::new(spec, latest).map_err(|_| Shortage::of(NodeResource::Valid, 0))?.at(role);
        let port = self.places(asked)?;
        let least = self.least(request, to).map_err(|refusal| self.shortage(&refusal, asked, request));
        let least = least?.max(Span::from_ps(1));
        if least > latest {
            let missing = least - latest;
            let acceptable = longer(asked, missing);
            return Err(Shortage::of(NodeResource::Deadline, missing.as_ps()).but(acceptable));
        }
        let request = request.within(least);
        let ids = self.admit(request, to).map_err(|refusal| self.shortage(&refusal, asked, request))?;
        let id = self.keep(Reserved { port, deadline: least, ids });
        let service = self.service(&request);
        let cpu = u128::from(service.as_ps()) * u128::from(MILLIONTHS);
        let claim = QuotaClaim {
            bandwidth: to.map_or(0, |_| asked.contract.bandwidth()),
            buffers: u64::from(burst),
            cpu: u64::try_from(cpu.div_ceil(u128::from(min_interval.as_ps()))).unwrap_or(u64::MAX),
        };
        Ok(Offer { id, least, latest, way, claim })
    }

    fn commit(&mut self, id: ReservationId, deadline: Span) -> Result<(), Shortage> {
        let Some(Reserved { deadline: before, ids, .. }) = self.reserved.get_mut(&id) else {
            return Err(Shortage::of(NodeResource::Agreement, 0));
        };
        // A promise is only ever relaxed.
        if deadline < *before {
            return Err(Shortage::of(NodeResource::Deadline, (*before - deadline).as_ps()));
        }
        let tables = self.links.values_mut().map(|(table, _)| table);
        for (table, id) in tables.zip(ids.iter()) {
            if !table.relax(*id, deadline) {
                return Err(Shortage::of(NodeResource::Deadline, 0));
            }
        }
        *before = deadline;
        Ok(())
    }

    fn release(&mut self, id: ReservationId) {
        if let Some(reserved) = self.reserved.get(&id) {
            let ids = reserved.ids.clone();
            self.withdraw(&ids);
            self.forget(id);
        }
    }

    fn snapshot(&self) -> Self::Snapshot {
        let of = |table: &AdmissionTable| {
            let asked =
                |id| table.admitted(id).map(|r| (r.spec().max_message, r.spec().min_interval, r.deadline()));
            let mut all: Vec<_> = table.bounds().iter().filter_map(|bound| asked(bound.id)).collect();
            all.sort_unstable();
            all
        };
        (self.links.values().map(|(table, _)| of(table)).collect(), self.used.clone())
    }
}

/// The contract with more time: no node uses a deadline beyond `I_min`, so the shorter one is in the way.
fn longer(asked: &NodeRequest, missing: Span) -> Alternative {
    let ChannelContract { min_interval, deadline, .. } = asked.contract;
    match min_interval < deadline {
        true => Alternative::Interval(min_interval.saturating_add(missing)),
        false => Alternative::Deadline(deadline.saturating_add(missing)),
    }
}
