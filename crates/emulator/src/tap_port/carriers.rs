//! Channels that carry a frame: of those to its host, the first with a matching `carries`.
//!
//! Ports are connected as by a switch. A frame with the Ethernet address of a port goes to that
//! port's node only. A frame for a group (broadcast, multicast, so ARP and neighbour discovery)
//! goes to every node to which a channel carries it. So does a frame for an unknown address, as a
//! switch floods it: a program may bridge other hosts to its interface.

use laxity_machine::Mac;
use laxity_world::experiment::Carries;

use crate::frame::Headers;

/// First four bytes of every port's address, which is locally administered; the node's number plus
/// one follows.
pub(super) const PREFIX: [u8; 4] = [2, b'L', b'X', 0];

/// Address of the host's end at a node, the same in every run.
pub(super) fn mac(node: usize) -> Mac {
    let ([a, b, c, d], [high, low]) = (PREFIX, (node as u16 + 1).to_be_bytes());
    Mac([a, b, c, d, high, low])
}

/// Destination of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Host at this node.
    Node(usize),
    /// Group, or an unknown address.
    Everyone,
}

impl Destination {
    /// Destination of an Ethernet frame. A frame without a complete address is for all.
    #[inline]
    pub fn of(frame: &[u8]) -> Self {
        match frame.first_chunk::<6>() {
            Some([start @ .., high, low]) if *start == PREFIX => {
                let number = u16::from_be_bytes([*high, *low]);
                number.checked_sub(1).map_or(Destination::Everyone, |node| Destination::Node(node.into()))
            }
            _ => Destination::Everyone,
        }
    }

    /// Whether a channel to `node` may carry a frame with this destination.
    #[inline]
    pub fn admits(self, node: usize) -> bool {
        self == Destination::Everyone || self == Destination::Node(node)
    }
}

/// Channel that carries frames of a port.
#[derive(Debug, Clone, Copy)]
struct Carrier {
    carries: Carries,
    /// Destination node.
    to: usize,
    channel: usize,
}

/// Channels that carry frames of one port, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Carriers(Vec<Carrier>);

impl Carriers {
    pub(super) fn add(&mut self, carries: Carries, to: usize, channel: usize) {
        self.0.push(Carrier { carries, to, channel });
    }

    /// First channel that carries `frame`; puts the others, each to another node, into `others`.
    #[inline]
    pub(super) fn of(&self, frame: &[u8], others: &mut Vec<usize>) -> Option<usize> {
        others.clear();
        let destination = Destination::of(frame);
        let mut headers = None;
        let mut takes = |carrier: &Carrier| {
            destination.admits(carrier.to)
                && (carrier.carries == Carries::All
                    || headers.get_or_insert_with(|| Headers::of(frame)).are_carried(carrier.carries))
        };
        let place = self.0.iter().position(&mut takes)?;
        if destination == Destination::Everyone {
            let mut reached = vec![self.0[place].to];
            for carrier in &self.0[place + 1..] {
                if !reached.contains(&carrier.to) && takes(carrier) {
                    reached.push(carrier.to);
                    others.push(carrier.channel);
                }
            }
        }
        Some(self.0[place].channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::tests::{framed, v4};

    fn to(address: [u8; 6], protocol: u8) -> Vec<u8> {
        let mut frame = framed(&[], 0x0800, &v4(protocol, 0, 0, 0, &[0; 8]));
        frame[..6].copy_from_slice(&address);
        frame
    }

    /// Carrier of a frame of each kind, by hand: channels 0 and 1 to node 1, 2 and 3 to node 2, 4
    /// to node 7.
    #[test]
    fn a_frame_goes_to_its_host_or_once_to_every_host() {
        let mut carriers = Carriers::default();
        for (channel, (carries, to)) in [
            (Carries::Udp(None), 1),
            (Carries::All, 1),
            (Carries::Udp(None), 2),
            (Carries::Icmp, 2),
            (Carries::Tcp(None), 7),
        ]
        .into_iter()
        .enumerate()
        {
            carriers.add(carries, to, channel);
        }
        let of = |frame: &[u8]| {
            let mut others = vec![9];
            let first = carriers.of(frame, &mut others);
            first.into_iter().chain(others).collect::<Vec<_>>()
        };
        let (udp, tcp, icmp) = (17, 6, 1);
        assert_eq!(of(&to(mac(1).0, udp)), [0]);
        assert_eq!(of(&to(mac(2).0, udp)), [2]);
        assert_eq!(of(&to(mac(2).0, icmp)), [3]);
        assert_eq!(of(&to(mac(1).0, tcp)), [1]);
        assert_eq!(of(&to(mac(2).0, tcp)), [0_usize; 0], "no channel to node 2 carries it");
        assert_eq!(of(&to(mac(3).0, udp)), [0_usize; 0], "no channel leads to node 3");
        let (all, group, unknown) = ([0xff; 6], [0x33, 0x33, 0, 0, 0, 1], [2, 0, 0, 0, 0, 9]);
        for address in [all, group, unknown, [2, b'L', b'X', 0, 0, 0]] {
            assert_eq!(of(&to(address, udp)), [0, 2], "once to each node");
            assert_eq!(of(&to(address, icmp)), [1, 3]);
            assert_eq!(of(&to(address, tcp)), [1, 4]);
        }
        // ARP.
        assert_eq!(of(&framed(&[], 0x0806, &[0; 28])), [1]);
        assert_eq!(of(&[]), [1]);
    }
}
