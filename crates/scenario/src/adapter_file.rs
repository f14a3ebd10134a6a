//! Adapter files: a network adapter by itself, with the source of every number.
//!
//! A device is described once and used by many scenarios of other authors. So a file says more than
//! a scenario's `[adapter]`, which it otherwise equals to the letter. Each number has its source
//! beside it: a table of a paper, a measurement, or the argument for a choice. `about` says which
//! properties of the device the description has, and which it cannot have.

use std::path::Path;
use std::sync::Arc;

use laxity_world::experiment::AdapterSpec;

use super::adapter::{self, Citation};
use super::context::{Context, Reported, WHOLE};
use super::document;
use super::files::{Disk, Files, read_text};
use super::raw::RawAdapterFile;
use crate::diagnostic::{Diagnostics, SourceText};

/// The built-in adapters, by name.
pub(crate) const BUILT_IN: [(&str, &str); 19] = [
    ("cim250", include_str!("../../../adapters/cim250.toml")),
    ("cim250-dual", include_str!("../../../adapters/cim250-dual.toml")),
    ("cim250-simple", include_str!("../../../adapters/cim250-simple.toml")),
    ("cim250-simple-dual", include_str!("../../../adapters/cim250-simple-dual.toml")),
    ("end-edd", include_str!("../../../adapters/end-edd.toml")),
    ("end-fifo", include_str!("../../../adapters/end-fifo.toml")),
    ("nic-100g", include_str!("../../../adapters/nic-100g.toml")),
    ("nic-25g", include_str!("../../../adapters/nic-25g.toml")),
    ("nic-25g-tc", include_str!("../../../adapters/nic-25g-tc.toml")),
    ("null", include_str!("../../../adapters/null.toml")),
    ("null-25g", include_str!("../../../adapters/null-25g.toml")),
    ("ring-edf", include_str!("../../../adapters/ring-edf.toml")),
    ("ring-edf-unoptimised", include_str!("../../../adapters/ring-edf-unoptimised.toml")),
    ("ring-fifo", include_str!("../../../adapters/ring-fifo.toml")),
    ("ring-two-queues", include_str!("../../../adapters/ring-two-queues.toml")),
    ("template", include_str!("../../../adapters/template.toml")),
    ("tsn-1g", include_str!("../../../adapters/tsn-1g.toml")),
    ("tsn-2.5g", include_str!("../../../adapters/tsn-2.5g.toml")),
    ("virtio-net", include_str!("../../../adapters/virtio-net.toml")),
];

/// Names of the built-in adapters, in order.
pub fn built_in_adapters() -> Vec<&'static str> {
    BUILT_IN.iter().map(|(name, _)| *name).collect()
}

/// Text of the built-in adapter called `name`.
pub fn built_in_adapter(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name).map(|(_, text)| *text)
}

/// An adapter file, valid throughout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterFile {
    /// File stem, `cim250`.
    pub name: String,
    /// The adapter in one line.
    pub title: String,
    /// Contents and gaps of the description; may be empty.
    pub about: String,
    /// The adapter.
    pub adapter: AdapterSpec,
    /// The source of every number, in the order of the file's parts.
    pub sources: Vec<Citation>,
}

impl AdapterFile {
    /// Reads the adapter at `path`.
    pub fn load(path: &Path) -> Result<AdapterFile, Diagnostics> {
        AdapterFile::read(path, &Disk)
    }

    /// Reads the adapter at `path`, or the built-in one of that name where no file is.
    pub fn named(path: &Path) -> Result<AdapterFile, Diagnostics> {
        match path.to_str().and_then(|name| Some((name, built_in_adapter(name)?))) {
            Some((name, text)) if !path.exists() => {
                AdapterFile::parse(&SourceText::built_in("adapter", name, text))
            }
            _ => AdapterFile::load(path),
        }
    }

    /// Reads the adapter at `path` of `files`.
    pub fn read(path: &Path, files: &dyn Files) -> Result<AdapterFile, Diagnostics> {
        AdapterFile::parse(&read_text(files, path, "an adapter")?)
    }

    /// The adapter that `source` is; its name is the file's stem.
    pub(crate) fn parse(source: &Arc<SourceText>) -> Result<AdapterFile, Diagnostics> {
        let document = document::parse(source)?;
        let mut diagnostics = Diagnostics::default();
        let cx = &mut Context::new(source, &mut diagnostics);
        let file = document::read(cx, document).and_then(|raw| AdapterFile::convert(cx, raw));
        match file {
            Ok(file) if diagnostics.is_empty() => Ok(file),
            _ => Err(diagnostics),
        }
    }

    fn convert(cx: &mut Context<'_>, raw: RawAdapterFile) -> Result<AdapterFile, Reported> {
        let RawAdapterFile { title, about, adapter } = raw;
        let title = cx.required(title, "title", &WHOLE, "the adapter file");
        let about = cx.or(about, String::new());
        let adapter = match adapter {
            Some(adapter) => adapter::of_file(cx, adapter),
            None => Err(cx.fault(&WHOLE, "the file has no `[adapter]`", "add `[adapter]` with its `kind`")),
        };
        let name = Path::new(cx.source.name()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let (adapter, sources) = adapter?;
        Ok(AdapterFile {
            name: name.unwrap_or_default(),
            title: title?.into_inner(),
            about: about?,
            adapter,
            sources,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;
    use laxity_model::adapter::{Description, Pipeline};
    use laxity_units::{ByteTime, Bytes, Span};

    fn built_in(name: &str) -> AdapterFile {
        AdapterFile::named(Path::new(name)).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn description(name: &str) -> Description {
        let AdapterSpec::Described(description) = built_in(name).adapter else {
            panic!("{name} is described")
        };
        *description
    }

    #[test]
    fn all_adapter_files_come_with_laxity_and_cite_a_source() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters");
        let Ok(folder) = std::fs::read_dir(root) else { return };
        for file in folder {
            let path = file.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let file = AdapterFile::load(&path).unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(built_in(&file.name), file);
            assert!(!file.sources.is_empty() && !file.about.is_empty(), "{}", file.name);
            if let AdapterSpec::Described(description) = file.adapter {
                drop(Pipeline::new(*description));
            }
        }
    }

    #[test]
    fn taking_away_any_source_is_an_error() {
        for (name, text) in BUILT_IN {
            let citations: Vec<usize> = text.match_indices("source = ").map(|(at, _)| at).collect();
            assert!(!citations.is_empty(), "{name}");
            for at in citations {
                // The key and its text, with a comma if one is before it.
                let end = at + "source = \"".len();
                let end = end + text[end..].find('"').unwrap() + 1;
                let start = if text[..at].ends_with(", ") { at - 2 } else { at };
                let without = format!("{}{}", &text[..start], &text[end..]);
                let files = std::collections::BTreeMap::from([("a.toml".into(), without.into_bytes())]);
                let errors = AdapterFile::read(Path::new("a.toml"), &files as &dyn Files);
                let errors = errors.expect_err(&text[start..end]).to_string();
                assert!(errors.contains("no `source`"), "{errors}");
            }
        }
    }

    #[test]
    fn the_files_say_what_the_papers_say() {
        let size = Bytes::new(4096);
        let null = built_in("null").adapter;
        let AdapterSpec::Null(costs) = null else { panic!() };
        assert_eq!((costs.startup, costs.per_byte), (Span::from_us(40), ByteTime::from_ns(50)));
        // A frame of 1500 B at 1 Gbit/s with its tag, and over one lane in six TLPs.
        let (frame, tsn) = (Bytes::new(1500), description("tsn-1g"));
        assert_eq!(tsn.transmit[2].service(frame), Span::from_ns(8 * 1542));
        assert_eq!(tsn.transmit[1].service(frame), Span::from_ns(500 + 6 * 80 + 1500 * 4));
        assert_eq!(tsn.receive[0].service(frame), Span::from_ns(6 * 96 + 1500 * 4));
        // 1500 B at 63 Gbit/s, rounded up.
        let nic = description("nic-25g");
        assert_eq!(nic.transmit[2].service(frame), Span::from_ps(1538 * 320));
        assert_eq!(nic.transmit[1].service(frame), Span::from_ps(500_000 + 6 * 2540 + 190_477));
        let cim = description("cim250");
        // Eq. 5.3 and 5.1 at 4 KiB.
        assert_eq!(cim.transmit[1].phases[0].delay.of(size), Span::from_ns(16 * 1760 + 4096 * 420));
        assert_eq!(cim.transmit[2].service(size), Span::from_ns(1_350_000 + 2 * 79_750));
        assert_eq!(cim.resources.len(), 2);
        assert_eq!(description("cim250-dual").resources.len(), 3);
        assert!(description("cim250-simple").transmit[0].phases.len() < cim.transmit[0].phases.len());
        // The work in line and the masked work add up to the unoptimised cost, within half a
        // microsecond.
        let work = |name: &str| -> Span {
            let phases = description(name).transmit;
            phases.iter().flat_map(|stage| &stage.phases).filter(|p| p.work).map(|p| p.delay.fixed).sum()
        };
        assert_eq!(work("end-fifo"), Span::from_us(66));
        assert_eq!(work("ring-edf"), Span::from_us(123));
        assert_eq!(work("ring-edf-unoptimised"), Span::from_ns(122_500));
    }
}
