//! `--set`: values in place of those of a file.

use clap::Args;
use laxity_scenario::{Change, Edits};

/// Changes of a scenario from the command line.
#[derive(Debug, Default, Args)]
pub(crate) struct Settings {
    /// Sets a key in place of the file's value, at every point of the sweep: `--set
    /// "channel.camera.deadline=5 ms"`. Keys are those that a sweep can set. Can be given several
    /// times.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = change)]
    changes: Vec<Change>,
}

impl Settings {
    /// The changes as edits of a scenario.
    pub(crate) fn edits(&self) -> Edits {
        let mut edits = Edits::default();
        self.changes.iter().for_each(|change| edits.set(change.clone()));
        edits
    }
}

/// `KEY=VALUE`, where a value that is none of TOML's is a text.
fn change(text: &str) -> Result<Change, String> {
    let (key, value) = text.split_once('=').ok_or("valid is a key, `=` and its value")?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || value.is_empty() {
        return Err("valid is a key, `=` and its value".into());
    }
    Ok(Change { key: key.into(), value: Change::value_of(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_need_no_quotes() {
        let value = |text: &str| change(text).map(|change| change.value);
        assert_eq!(value("channel.camera.deadline=5 ms"), Ok("\"5 ms\"".into()));
        assert_eq!(value("host.speedup = 2.5"), Ok("2.5".into()));
        assert_eq!(value("a.b=[1, 2]"), Ok("[1, 2]".into()));
        assert_eq!(value("a.b=\"3\""), Ok("\"3\"".into()));
        assert_eq!(value("a.b=c=d"), Ok("\"c=d\"".into()));
        assert!(value("speedup").is_err() && value("=1").is_err() && value("a=").is_err());
    }
}
