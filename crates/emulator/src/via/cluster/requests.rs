//! Requests of programs, decided where the adapters are: one owner of all state, no locks.
//!
//! The control thread ([`super::super::control`]) makes the system calls, maps memory, and puts an
//! [`Order`] on the desk with the created objects; the order is handled here between two events.
//! Objects that are no longer needed return with the response, since unmapping memory is a system
//! call, too.

use laxity_engine::Calendar;
use laxity_model::via::AdapterVi;
use laxity_units::{Span, Time};
use laxity_vi::provider::{Answer, ControlRequest, Memory, ViQueues};
use laxity_vi::{Attributes, Bandwidth, DEPTH, State, ViRefusal};

use super::super::desk::{MOST_AT_ADAPTER, MOST_MADE, MOST_VIS, Order, Reply, Thing};
use super::super::interface::{Interface, Made};
use super::super::load::{Load, vtick};
use super::super::regions::{self, Region, Regions};
use super::super::turns::Share;
use super::{Cluster, Decided, Event, Process};

impl Cluster {
    /// Handles the order on the desk. There is one per announcement: the next is put there after
    /// this response.
    pub(super) fn answer(&mut self, now: Time, calendar: &mut Calendar<Event>) {
        let desk = self.desk.clone();
        if let Some(order) = self.inputs.order(&desk.orders) {
            let mut rest = Vec::new();
            let answer = match order {
                Order::Open { process, node, doorbells } => self.open(process, node, doorbells),
                Order::Ask { process, request, brought } => {
                    self.decide(now, process, request, brought, &mut rest, calendar)
                }
                Order::Gone { process } => self.gone(now, process, &mut rest, calendar),
                Order::Stop => {
                    self.over = true;
                    Ok(Answer::Done)
                }
            };
            // Effects of a request are visible before the response.
            self.calm(now, calendar);
            self.tell_programs();
            // The receiver may be gone at the end.
            let _ = desk.replies.send(Reply { answer: answer.unwrap_or_else(Answer::Refused), _rest: rest });
        }
    }

    fn open(&mut self, process: u32, node: u32, doorbells: Memory) -> Decided {
        let place = process as usize;
        if self.processes.len() <= place {
            self.processes.resize_with(place + 1, || None);
        }
        let (regions, tags, queues) = (Regions::default(), Vec::new(), Vec::new());
        self.processes[place] = Some(Process { node, regions, tags, queues, vis: 0 });
        self.bells.put(process, doorbells);
        Ok(Answer::Opened(Attributes {
            host: node,
            virtual_interfaces: MOST_VIS,
            registrations: regions::MOST as u32,
            registered_bytes: regions::MOST_BYTES,
            depth: DEPTH,
            tags: MOST_MADE as u32,
            completion_queues: MOST_MADE as u32,
            longest: self.setup.longest,
            hosts: self.setup.nodes as u32,
        }))
    }

    fn decide(
        &mut self,
        now: Time,
        process: u32,
        request: ControlRequest,
        brought: Option<Thing>,
        rest: &mut Vec<Thing>,
        calendar: &mut Calendar<Event>,
    ) -> Decided {
        let Some(Some(own)) = self.processes.get_mut(process as usize) else {
            rest.extend(brought);
            return Err(ViRefusal::InvalidState);
        };
        match (request, brought) {
            (ControlRequest::CreateTag, None) => {
                let free = (1..=MOST_MADE as u32).find(|tag| !own.tags.contains(tag));
                let tag = free.ok_or(ViRefusal::Resource)?;
                own.tags.push(tag);
                Ok(Answer::Made(tag))
            }
            (ControlRequest::DestroyTag(tag), None) => {
                let place = own.tags.iter().position(|other| *other == tag).ok_or(ViRefusal::InvalidTag)?;
                let mine = |other: &Interface| other.owner == process && other.queues.is_some();
                let used = self.interfaces.iter().flatten().any(|other| mine(other) && other.tag == tag);
                if used || own.regions.uses(tag) {
                    return Err(ViRefusal::Resource);
                }
                own.tags.swap_remove(place);
                Ok(Answer::Done)
            }
            (ControlRequest::Register { base, length, tag, write, read }, Some(Thing::Memory(memory))) => {
                if !own.tags.contains(&tag) || base.checked_add(length).is_none() {
                    rest.push(Thing::Memory(memory));
                    return Err(ViRefusal::InvalidTag);
                }
                match own.regions.insert(Region { memory, base, length, tag, write, read }) {
                    Ok(handle) => Ok(Answer::Made(handle)),
                    Err((refusal, region)) => {
                        rest.push(Thing::Memory(region.memory));
                        Err(refusal)
                    }
                }
            }
            (ControlRequest::Deregister(handle), None) => {
                let region = own.regions.remove(handle).ok_or(ViRefusal::InvalidParameter)?;
                rest.push(Thing::Memory(region.memory));
                Ok(Answer::Done)
            }
            (ControlRequest::CreateQueue(_), Some(Thing::Entries(entries))) => {
                let place = own.queues.iter().position(Option::is_none);
                let place = match place {
                    Some(place) => place,
                    None if own.queues.len() < MOST_MADE => {
                        own.queues.push(None);
                        own.queues.len() - 1
                    }
                    None => {
                        rest.push(Thing::Entries(entries));
                        return Err(ViRefusal::Resource);
                    }
                };
                own.queues[place] = Some(entries);
                Ok(Answer::Made(place as u32))
            }
            (ControlRequest::DestroyQueue(queue), None) => {
                let entries = own.queues.get_mut(queue as usize).and_then(Option::take);
                rest.push(Thing::Entries(entries.ok_or(ViRefusal::InvalidParameter)?));
                for interface in self.interfaces.iter_mut().flatten().filter(|other| other.owner == process) {
                    interface
                        .announced
                        .iter_mut()
                        .for_each(|place| *place = place.filter(|other| *other != queue));
                }
                Ok(Answer::Done)
            }
            (ControlRequest::SetMemory { handle, tag, write, read }, None) => {
                if !own.tags.contains(&tag) {
                    return Err(ViRefusal::InvalidTag);
                }
                let set = own.regions.set(handle, (tag, write, read));
                if set { Ok(Answer::Done) } else { Err(ViRefusal::InvalidParameter) }
            }
            (ControlRequest::SetVi { vi, tag, reliability, write, read, bandwidth, playout }, None) => {
                if !own.tags.contains(&tag) {
                    return Err(ViRefusal::InvalidTag);
                }
                if self.own(Some(process), vi)?.state != State::Idle {
                    return Err(ViRefusal::InvalidState);
                }
                self.renegotiate(now, process, vi, bandwidth)?;
                let set = self.own(Some(process), vi)?;
                (set.tag, set.reliability, set.access) = (tag, reliability, [write, read]);
                set.playout = Span::from_ns(playout);
                Ok(Answer::Done)
            }
            (ControlRequest::CreateVi { .. }, Some(Thing::Queues(queues))) => {
                self.create(now, process, request, queues).map_err(|(refusal, queues)| {
                    rest.push(Thing::Queues(queues));
                    refusal
                })
            }
            (ControlRequest::DestroyVi(vi), None) => self.destroy(now, process, vi, rest, calendar),
            (ControlRequest::Connect { vi, to, from }, None) => self.connect(process, vi, to, from),
            (ControlRequest::Peer(vi), None) => self.peer_of(process, vi),
            (ControlRequest::Await(discriminator), None) => self.call_for(process, discriminator),
            (ControlRequest::Accept { call, vi }, None) => self.accept(now, process, call, vi),
            (ControlRequest::Reject(call), None) => {
                let caller = self.take_call(process, call)?.vi;
                self.own(None, caller)?.show(State::Idle);
                Ok(Answer::Done)
            }
            (ControlRequest::Disconnect(vi), None) => {
                self.own(Some(process), vi)?;
                self.disconnect(now, vi, calendar);
                Ok(Answer::Done)
            }
            (ControlRequest::Renegotiate(vi, bandwidth), None) => {
                self.renegotiate(now, process, vi, bandwidth)
            }
            (_, brought) => {
                rest.extend(brought);
                Err(ViRefusal::InvalidParameter)
            }
        }
    }

    /// Changes the bandwidth of a virtual interface, if both ends have enough left.
    fn renegotiate(&mut self, now: Time, process: u32, vi: u32, bandwidth: Bandwidth) -> Decided {
        let before = std::mem::replace(&mut self.own(Some(process), vi)?.bandwidth, bandwidth);
        let sides = [Some(vi), self.own(None, vi)?.peer];
        let nodes = sides.into_iter().flatten().filter_map(|vi| Some(self.own(None, vi).ok()?.node));
        if !nodes.collect::<Vec<_>>().into_iter().all(|node| self.load(node).fits()) {
            self.own(None, vi)?.bandwidth = before;
            return Err(ViRefusal::InvalidQos);
        }
        let (node, endpoint) = self.own(None, vi).map(|own| (own.node as usize, own.endpoint))?;
        self.adapters[node].renegotiate(now, endpoint, vtick(bandwidth));
        // Arrivals at either side have the other's bandwidth.
        let peer = self.own(None, vi)?.peer;
        [Some(vi), peer].into_iter().flatten().for_each(|side| self.expect(now, side));
        Ok(Answer::Done)
    }

    fn create(
        &mut self,
        now: Time,
        process: u32,
        request: ControlRequest,
        queues: ViQueues,
    ) -> Result<Answer, (ViRefusal, ViQueues)> {
        let ControlRequest::CreateVi { tag, reliability, write, read, bandwidth, queues: announced, playout } =
            request
        else {
            return Err((ViRefusal::InvalidParameter, queues));
        };
        let Some(own) = self.processes[process as usize].as_ref() else {
            return Err((ViRefusal::InvalidState, queues));
        };
        let node = own.node;
        let known = |queue: u32| own.queues.get(queue as usize).is_some_and(Option::is_some);
        let free = self.interfaces.iter().position(Option::is_none);
        let refused = match () {
            () if !own.tags.contains(&tag) => Some(ViRefusal::InvalidTag),
            () if !announced.iter().flatten().all(|queue| known(*queue)) => Some(ViRefusal::InvalidParameter),
            () if own.vis >= MOST_VIS => Some(ViRefusal::Resource),
            () if self.endpoints[node as usize].iter().flatten().count() >= MOST_AT_ADAPTER => {
                Some(ViRefusal::Resource)
            }
            () if !self.load(node).and(Load::of(&self.setup.adapter, bandwidth, true)).fits() => {
                Some(ViRefusal::InvalidQos)
            }
            () => None,
        };
        if let Some(refusal) = refused {
            return Err((refusal, queues));
        }
        let vi = free.unwrap_or(self.interfaces.len());
        let endpoints = &mut self.endpoints[node as usize];
        let place = endpoints.iter().position(Option::is_none).map(|place| place as u32);
        let interface = AdapterVi { vtick: vtick(bandwidth), receives: Some(0), share: None, process };
        let endpoint = self.adapters[node as usize].open(now, place, interface);
        if place.is_none() {
            endpoints.push(None);
        }
        endpoints[endpoint as usize] = Some(vi as u32);
        let made = Made {
            owner: process,
            node,
            endpoint,
            tag,
            reliability,
            access: [write, read],
            bandwidth,
            playout: Span::from_ns(playout),
            announced,
        };
        let share = self.shares.enter(Share { node, process, reserved: None });
        let interface = Interface::new(made, share, queues);
        match free {
            Some(place) => self.interfaces[place] = Some(interface),
            None => self.interfaces.push(Some(interface)),
        }
        if let Some(own) = self.processes[process as usize].as_mut() {
            own.vis += 1;
        }
        Ok(Answer::Made(vi as u32))
    }

    fn destroy(
        &mut self,
        now: Time,
        process: u32,
        vi: u32,
        rest: &mut Vec<Thing>,
        calendar: &mut Calendar<Event>,
    ) -> Decided {
        self.own(Some(process), vi)?;
        self.disconnect(now, vi, calendar);
        let own = self.own(Some(process), vi)?;
        rest.extend(own.queues.take().map(Thing::Queues));
        self.sweep(now, vi);
        Ok(Answer::Done)
    }

    /// Removes a process with all its objects.
    fn gone(
        &mut self,
        now: Time,
        process: u32,
        rest: &mut Vec<Thing>,
        calendar: &mut Calendar<Event>,
    ) -> Decided {
        for vi in 0..self.interfaces.len() as u32 {
            if self.own(Some(process), vi).is_ok() {
                self.destroy(now, process, vi, rest, calendar)?;
            }
        }
        self.calls.iter_mut().for_each(|call| call.told = call.told.filter(|told| *told != process));
        rest.extend(self.bells.take(process).map(Thing::Memory));
        if let Some(gone) = self.processes.get_mut(process as usize).and_then(Option::take) {
            rest.extend(gone.regions.into_all().map(|region| Thing::Memory(region.memory)));
            rest.extend(gone.queues.into_iter().flatten().map(Thing::Entries));
        }
        Ok(Answer::Done)
    }
}
