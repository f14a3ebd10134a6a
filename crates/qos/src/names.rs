//! By what channels, links and cores are named.

/// A channel of one [`Subsystem`](crate::channel::Subsystem), numbered in the order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(pub u32);

/// Which of a host's links: each leads through an adapter of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LinkId(pub u8);

impl LinkId {
    /// The only one that most hosts have.
    pub const FIRST: LinkId = LinkId(0);
}

/// Which of a host's cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CoreId(pub u8);

impl CoreId {
    /// The only one that most hosts have.
    pub const FIRST: CoreId = CoreId(0);
}
