//! The properties of a field of results beside its value: its quantity, and how it is shown.

use std::collections::BTreeMap;

use super::{Channel, Kind, RefusedChannel, Summary};

/// A field of a channel.
#[derive(Debug)]
pub struct Field {
    /// By which it is known everywhere.
    pub name: &'static str,
    /// Its specification.
    pub spec: Spec,
    /// Its value for a channel.
    pub read: fn(&Channel) -> FieldReading<'_>,
}

/// The specification of a field.
#[derive(Debug)]
pub enum Spec {
    /// Words, or numbers by words: no axis can show them.
    Words,
    /// One number.
    Number(Number),
    /// A distribution in a few numbers.
    Distribution(Distribution),
}

/// A number of a channel.
#[derive(Debug)]
pub struct Number {
    /// The kind of quantity.
    pub kind: Kind,
    /// The label of an axis.
    pub label: &'static str,
    /// The counted unit (`msg`, `pkt`), if it is counted and not measured: a file stores an
    /// integer.
    pub counts: Option<&'static str>,
    /// Its column in the table of channels.
    pub column: ChannelColumn,
}

/// A summary of a channel.
#[derive(Debug)]
pub struct Distribution {
    /// The label of an axis, behind the statistic's.
    pub label: &'static str,
    /// Which of its statistics have a column in the table of channels.
    pub columns: &'static [(&'static str, ChannelColumn)],
}

/// A column of the table of channels.
#[derive(Debug, Clone, Copy)]
pub struct ChannelColumn {
    /// Its heading.
    pub title: &'static str,
    /// Columns stand in the order of their seats.
    pub seat: u8,
    /// Where there is no room, the highest ranks go first; 0 stays.
    pub rank: u8,
    /// When it is there at all.
    pub shown: ColumnShown,
    /// Whether it has no meaning for a channel without a deadline.
    pub of_deadlines: bool,
}

/// When a column is there, if there is a value for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnShown {
    /// Always.
    Always,
    /// If a value is not zero.
    IfAny,
    /// In full reports, if a value is not zero.
    InFull,
}

/// The value of a field for a channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldReading<'a> {
    /// Words.
    Words,
    /// A number; `None` if it was not measured.
    Number(Option<f64>),
    /// A distribution; `None` if it was not measured.
    Summary(Option<&'a Summary>),
}

impl Field {
    /// The number of `channel`, if the field is one and it was measured.
    pub fn number(&self, channel: &Channel) -> Option<f64> {
        match (self.read)(channel) {
            FieldReading::Number(value) => value,
            _ => None,
        }
    }

    /// The summary of `channel`, if the field is one and something was counted.
    pub fn summary<'a>(&self, channel: &'a Channel) -> Option<&'a Summary> {
        match (self.read)(channel) {
            FieldReading::Summary(summary) => summary.filter(|summary| summary.count > 0),
            _ => None,
        }
    }
}

impl ChannelColumn {
    pub(super) const fn in_full(self) -> Self {
        Self { shown: ColumnShown::InFull, ..self }
    }

    pub(super) const fn if_any(self) -> Self {
        Self { shown: ColumnShown::IfAny, ..self }
    }

    pub(super) const fn of_deadlines(self) -> Self {
        Self { of_deadlines: true, ..self }
    }
}

pub(super) const fn column(title: &'static str, seat: u8, rank: u8) -> ChannelColumn {
    ChannelColumn { title, seat, rank, shown: ColumnShown::Always, of_deadlines: false }
}

pub(super) const fn words() -> Spec {
    Spec::Words
}

pub(super) const fn number(kind: Kind, label: &'static str, column: ChannelColumn) -> Spec {
    Spec::Number(Number { kind, label, counts: None, column })
}

pub(super) const fn messages(label: &'static str, column: ChannelColumn) -> Spec {
    Spec::Number(Number { kind: Kind::Count, label, counts: Some("msg"), column })
}

pub(super) const fn packets(label: &'static str, column: ChannelColumn) -> Spec {
    Spec::Number(Number { kind: Kind::Count, label, counts: Some("pkt"), column })
}

pub(super) const fn asks(label: &'static str, column: ChannelColumn) -> Spec {
    Spec::Number(Number { kind: Kind::Count, label, counts: Some("req"), column })
}

pub(super) const fn distribution(
    label: &'static str,
    columns: &'static [(&'static str, ChannelColumn)],
) -> Spec {
    Spec::Distribution(Distribution { label, columns })
}

/// The reading of a field of this type.
pub(super) trait Read {
    fn read(&self) -> FieldReading<'_>;
}

impl Read for f64 {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Number(Some(*self))
    }
}

impl Read for u64 {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Number(Some(*self as f64))
    }
}

impl Read for Option<f64> {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Number(*self)
    }
}

impl Read for Option<u64> {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Number(self.map(|count| count as f64))
    }
}

impl Read for Option<Summary> {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Summary(self.as_ref())
    }
}

impl Read for bool {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Words
    }
}

impl Read for String {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Words
    }
}

impl Read for Option<RefusedChannel> {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Words
    }
}

impl Read for BTreeMap<String, u64> {
    fn read(&self) -> FieldReading<'_> {
        FieldReading::Words
    }
}
