//! The rules after the end of all channels.

use super::*;

impl Network {
    /// After the end of all channels and leases.
    pub(super) fn end(&mut self) -> Result<(), Broken> {
        for (key, channel) in &self.channels {
            let Some(id) = channel.id else { continue };
            if let Some(number) = channel.sent.iter().position(|sent| sent.must && !sent.arrived) {
                return Err(self.breach(Rule::Delivery, format!("message {number} of {id}")));
            }
            let right = match (channel.outcomes, channel.established) {
                ([1, 0], false) | ([1, 1], _) | ([0, 1], false) => true,
                _ => channel.crashed,
            };
            if !right {
                return Err(self.breach(Rule::Notified, format!("{key}, {id}: {:?}", channel.outcomes)));
            }
        }
        for (number, node) in self.nodes.iter().enumerate() {
            let node = node.as_ref().expect("every node was restarted");
            let (held, fresh) = (node.holdings(), self.fresh(number, 1).holdings());
            if held != fresh {
                let what = format!("node {number} holds {held:?}, not {fresh:?}");
                return Err(self.breach(Rule::Free, what));
            }
            if !node.manager().quotas().is_unused() {
                return Err(self.breach(Rule::Quotas, format!("node {number}")));
            }
        }
        Ok(())
    }
}
