//! Names of channels, links and cores.

/// A channel of one [`Subsystem`](crate::channel::Subsystem), numbered in the order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub u32);

/// Number of a host's link; each link has its own adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LinkId(pub u8);

impl LinkId {
    /// The only link of most hosts.
    pub const FIRST: LinkId = LinkId(0);
}

/// Number of a host's core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CoreId(pub u8);

impl CoreId {
    /// The only core of most hosts.
    pub const FIRST: CoreId = CoreId(0);
}
