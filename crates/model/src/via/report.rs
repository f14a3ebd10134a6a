//! Statistics of an adapter: the steps of Table 1, and the utilisation of its units.

use laxity_units::{Span, Time};

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViDirection {
    /// Out.
    Send,
    /// In.
    Receive,
}

/// Declares the steps of Table 1, with their names there and in results.
macro_rules! steps {
    ($($step:ident $words:literal $figure:literal;)*) => {
        /// A step of Table 1, the sender's in the order of the table, then the receiver's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ViStep {
            $(#[doc = concat!($words, ".")] $step,)*
        }

        impl ViStep {
            /// Every one.
            pub const ALL: &'static [ViStep] = &[$(ViStep::$step),*];

            /// In words.
            pub fn words(self) -> &'static str {
                match self {
                    $(ViStep::$step => $words,)*
                }
            }

            /// The figure of a run that has its mean, in seconds.
            pub fn figure(self) -> &'static str {
                match self {
                    $(ViStep::$step => $figure,)*
                }
            }
        }
    };
}

steps! {
    SendDescriptorProgrammed "send: HDMA programmed for the descriptor" "send_descriptor_programmed_time";
    SendDescriptorDown "send: descriptor down" "send_descriptor_down_time";
    SendDataProgrammed "send: HDMA programmed for the data" "send_data_programmed_time";
    SendDataDown "send: data down" "send_data_down_time";
    SendNetworkDone "send: NSDMA done" "send_network_done_time";
    SendStatusProgrammed "send: HDMA programmed for the status" "send_status_programmed_time";
    SendStatusDone "send: status done" "send_status_done_time";
    ReceiveDescriptorProgrammed "receive: HDMA programmed for the descriptor" "receive_descriptor_programmed_time";
    ReceiveDescriptorDown "receive: descriptor down" "receive_descriptor_down_time";
    ReceiveDataProgrammed "receive: HDMA programmed for the data" "receive_data_programmed_time";
    ReceiveDataUp "receive: data up" "receive_data_up_time";
    ReceiveStatusProgrammed "receive: HDMA programmed for the status" "receive_status_programmed_time";
    ReceiveStatusDone "receive: status done" "receive_status_done_time";
}

/// When steps were done, on average.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepTimes {
    steps: [(u64, u128); ViStep::ALL.len()],
}

impl ViStep {
    /// Steps of a sender that fetches its descriptor.
    pub(super) const OF_SENDER: &'static [ViStep] = &[
        ViStep::SendDescriptorProgrammed,
        ViStep::SendDescriptorDown,
        ViStep::SendDataProgrammed,
        ViStep::SendDataDown,
        ViStep::SendNetworkDone,
        ViStep::SendStatusProgrammed,
        ViStep::SendStatusDone,
    ];

    /// Steps of a receiver with a prefetched descriptor.
    pub(super) const OF_RECEIVER_AHEAD: &'static [ViStep] = &[
        ViStep::ReceiveDataProgrammed,
        ViStep::ReceiveDataUp,
        ViStep::ReceiveStatusProgrammed,
        ViStep::ReceiveStatusDone,
    ];
}

impl StepTimes {
    /// Each of `steps` was done when it was begun.
    pub(super) fn note_at_once(&mut self, steps: &[ViStep]) {
        steps.iter().for_each(|step| self.steps[*step as usize].0 += 1);
    }

    pub(super) fn note(&mut self, step: ViStep, after: Span) {
        let (count, sum) = &mut self.steps[step as usize];
        *count += 1;
        *sum += u128::from(after.as_ps());
    }

    /// How long after the doorbell, or after the arrival, `step` was done on average; `None` if it never was.
    pub fn mean(&self, step: ViStep) -> Option<Span> {
        let (count, sum) = self.steps[step as usize];
        let mean = sum.checked_div(u128::from(count))?;
        Some(u64::try_from(mean).map_or(Span::MAX, Span::from_ps))
    }
}

/// Statistics of a unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnitReport {
    /// How long it was at work, transfers and handling that ended.
    pub busy: Span,
    /// How many there were.
    pub count: u64,
}

impl UnitReport {
    pub(super) fn note(&mut self, since: Time, until: Time) {
        self.busy += until.saturating_since(since);
        self.count += 1;
    }
}

/// Statistics of an adapter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViaReport {
    /// Statistics of each of [its units](super::Unit::ALL); the processor's exclude polls in vain.
    pub units: [UnitReport; 4],
    /// The steps of Table 1.
    pub steps: StepTimes,
    /// Requests that went behind where their stamps belong, so near the head of a queue did they belong.
    pub displaced: u64,
    /// The most doorbells that waited.
    pub longest_doorbells: usize,
    /// The most requests that waited for HDMA.
    pub longest_hdma: usize,
    /// The most messages that waited for NSDMA.
    pub longest_nsdma: usize,
    /// The longest that best effort waited to be let in where a rate is set aside for it, or a
    /// message of a group for its turn.
    pub longest_outside: Span,
    /// Messages and doorbells that it has not done with.
    pub backlog: usize,
}
