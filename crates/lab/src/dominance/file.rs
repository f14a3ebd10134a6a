//! A drawn file by its sections, so that one value can be changed.
//!
//! A drawn file has one key a line, and all values of a node are in one line too. A change of one
//! value is therefore a change of one line.

use laxity_world::experiment::Experiment;

/// A file by its headings.
#[derive(Debug, Clone)]
pub(super) struct File {
    sections: Vec<Section>,
}

/// A heading and the lines below it.
#[derive(Debug, Clone)]
pub(super) struct Section {
    /// The heading with its brackets; empty for the lines above the first heading.
    pub(super) heading: String,
    lines: Vec<String>,
}

/// The heading of a channel.
const CHANNEL: &str = "[[channel]]";

impl File {
    pub(super) fn new(text: &str) -> Self {
        let mut sections = vec![Section { heading: String::new(), lines: Vec::new() }];
        for line in text.lines() {
            match line.starts_with('[') {
                true => sections.push(Section { heading: line.to_string(), lines: Vec::new() }),
                false => sections.last_mut().expect("there is a first").lines.push(line.to_string()),
            }
        }
        Self { sections }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for section in &self.sections {
            let heading = Some(&section.heading).filter(|heading| !heading.is_empty());
            for line in heading.into_iter().chain(&section.lines) {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }

    /// The positions of the sections with the heading `wanted`.
    pub(super) fn places(&self, wanted: impl Fn(&str) -> bool) -> Vec<usize> {
        let fits = |place: &usize| wanted(&self.sections[*place].heading);
        (0..self.sections.len()).filter(fits).collect()
    }

    /// The places of the channels.
    pub(super) fn channels(&self) -> Vec<usize> {
        self.places(|heading| heading == CHANNEL)
    }

    pub(super) fn at(&self, place: usize) -> &Section {
        &self.sections[place]
    }

    /// The text with one section changed.
    pub(super) fn with(&self, place: usize, change: impl FnOnce(&mut Section)) -> String {
        let mut file = self.clone();
        change(&mut file.sections[place]);
        file.text()
    }

    /// The text without some sections.
    pub(super) fn without(&self, places: &[usize]) -> String {
        let kept = self.sections.iter().enumerate().filter(|(place, _)| !places.contains(place));
        Self { sections: kept.map(|(_, section)| section.clone()).collect() }.text()
    }
}

impl Section {
    /// The value at `key`, as it is written.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
    }

    /// The value at `key` without quotation marks.
    pub(super) fn word(&self, key: &str) -> Option<&str> {
        self.get(key).map(|value| value.trim_matches('"'))
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.lines.retain(|line| line.strip_prefix(key).is_none_or(|rest| !rest.starts_with(" = ")));
    }

    /// Puts `value` at `key`.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        self.remove(key);
        self.lines.insert(0, format!("{key} = {value}"));
    }

    /// The places in `experiment` of the channels that this section describes.
    pub(super) fn channels_of(&self, experiment: &Experiment) -> Vec<usize> {
        let Some(name) = self.word("name") else { return Vec::new() };
        let is_of = |called: &str| {
            let rest = called.strip_prefix(name);
            let number = |rest: &str| rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok());
            rest.is_some_and(|rest| rest.is_empty() || number(rest))
        };
        // Of a multicast the first channel has the name.
        let named = |place: &usize| is_of(&experiment.channels[experiment.multicast(*place).start].name);
        (0..experiment.channels.len()).filter(named).collect()
    }
}
