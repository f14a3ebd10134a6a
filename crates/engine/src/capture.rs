//! Captures of frames for standard tools.
//!
//! The traffic of a modelled link can be inspected with the tools for real links. The format is
//! pcapng rather than pcap, because it names its interfaces, so that both ends of a link and all
//! links of a network fit in one file, and because it declares the resolution of its times. The
//! resolution is the nanosecond, the finest that common tools read; picoseconds are truncated, so a
//! frame is never shown late. Time zero of the run is the beginning of 1970. The file is
//! little-endian on every machine, so that the same run gives the same bytes.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use laxity_units::{Bytes, Time};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError, PcapResult};

/// Exponent of the resolution, 10⁻⁹ s, for `if_tsresol`.
const NANOSECONDS: u8 = 9;

/// Link type of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet frames from the destination address on, without check sequence: LINKTYPE_ETHERNET,
    /// 1.
    Ethernet,
    /// Format of the model, such as Laxity's own packets: LINKTYPE_USER0, 147.
    User0,
}

/// Interface of a capture, in order of declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureInterface(u32);

/// Writes frames as they pass.
///
/// Each frame takes a few writes, so the writer should be buffered. An error of the writer ends the
/// writing and is reported by [`FrameCapture::finish`].
pub struct FrameCapture<W: Write> {
    /// `None` only if the writer refused the file's header.
    writer: Option<PcapNgWriter<W>>,
    interfaces: u32,
    snap_length: Bytes,
    failure: Option<io::Error>,
}

impl<W: Write> FrameCapture<W> {
    /// Starts a capture that keeps at most `snap_length` of each frame; panics if that is zero or
    /// exceeds 32 bits.
    pub fn new(writer: W, snap_length: Bytes) -> Self {
        assert!(!snap_length.is_zero(), "a snap length of zero means no limit to readers; say a large one");
        assert!(
            u32::try_from(snap_length.get()).is_ok(),
            "a snap length of {snap_length} does not fit the file"
        );
        // This identifies a capture of Laxity, which may be overwritten by another.
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed("laxity"))],
            ..SectionHeaderBlock::default()
        };
        let (writer, failure) = match PcapNgWriter::with_section_header(writer, section) {
            Ok(writer) => (Some(writer), None),
            Err(error) => (None, Some(io_error(error))),
        };
        Self { writer, interfaces: 0, snap_length, failure }
    }

    /// Adds the interface `name` with frames of type `link`.
    pub fn interface(&mut self, name: &str, link: LinkType) -> CaptureInterface {
        let linktype = match link {
            LinkType::Ethernet => DataLink::ETHERNET,
            LinkType::User0 => DataLink::USER0,
        };
        let interface = CaptureInterface(self.interfaces);
        self.interfaces += 1;
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        let snaplen = self.snap_length.get() as u32;
        self.write(InterfaceDescriptionBlock { linktype, snaplen, options });
        interface
    }

    /// Adds names of IPv4 addresses, for display.
    pub fn names(&mut self, names: impl IntoIterator<Item = ([u8; 4], String)>) {
        let record = |(address, name): ([u8; 4], String)| {
            let names = vec![Cow::Owned(name)];
            Record::Ipv4(Ipv4Record { ip_addr: Cow::Owned(address.to_vec()), names })
        };
        let records = names.into_iter().map(record).chain([Record::End]).collect();
        self.write(NameResolutionBlock { records, options: Vec::new() });
    }

    /// Writes `frame`, which passed `interface` at `at`, with an optional comment.
    pub fn frame(&mut self, interface: CaptureInterface, at: Time, frame: &[u8], remark: Option<&str>) {
        let original_len = u32::try_from(frame.len()).expect("a frame is shorter than 4 GiB");
        let kept = original_len.min(self.snap_length.get() as u32) as usize;
        self.write(EnhancedPacketBlock {
            interface_id: interface.0,
            timestamp: Duration::from_nanos(at.as_ps() / 1000),
            original_len,
            data: Cow::Borrowed(&frame[..kept]),
            options: remark
                .map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)))
                .into_iter()
                .collect(),
        });
    }

    /// Ends the capture and returns the writer, or its first error.
    pub fn finish(self) -> io::Result<W> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let mut writer = self.writer.expect("a capture without a writer has failed").into_inner();
        writer.flush().map(|()| writer)
    }

    fn write<'a>(&mut self, block: impl PcapNgBlock<'a>) {
        if self.failure.is_none()
            && let Some(writer) = &mut self.writer
        {
            let written: PcapResult<usize> = writer.write_pcapng_block(block);
            self.failure = written.err().map(io_error);
        }
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
