//! Writing of a log: one end at the emulating thread, one at the file.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use laxity_machine::ring::{Consumer, Producer, ring};
use laxity_units::Time;
use laxity_world::Input;
use serde::Serialize;

use super::{End, LogHeader, MAGIC, Wake};

/// Ring entries between the two threads. At 300 000 inputs a second, each with its own wake, this
/// is most of a second for which the writing thread may stall on a busy machine.
const RING: usize = 1 << 19;
/// Size in bytes at which a block is written.
const BLOCK: usize = 1 << 15;

/// Number of successive empty polls, some half a second, after which pending entries are written: a
/// killed run loses no more than that.
const FLUSH: u32 = 256;

#[derive(Debug, Clone, Copy)]
enum Entry {
    Wake { events: u64, at: Time },
    Input { at: Time, input: Input },
}

/// Emulating thread's end: takes inputs without waiting.
pub struct Journal(Tape<Entry>);

impl Journal {
    /// Starts a wake with inputs at `at`, after `events` events.
    #[inline]
    pub(crate) fn wake(&mut self, events: u64, at: Time) {
        self.0.put(Entry::Wake { events, at });
    }

    /// Adds an input of the wake, which was read at `at`.
    #[inline]
    pub(crate) fn input(&mut self, at: Time, input: Input) {
        self.0.put(Entry::Input { at, input });
    }
}

/// Non-blocking end for entries of any kind.
pub(crate) struct Tape<E> {
    ring: Producer<E>,
    overrun: Arc<AtomicBool>,
}

impl<E: Copy + Send> Tape<E> {
    #[inline]
    pub(crate) fn put(&mut self, entry: E) {
        // After a lost entry, no further one may follow.
        if !self.overrun.load(Ordering::Relaxed) && self.ring.push(entry).is_err() {
            self.overrun.store(true, Ordering::Release);
        }
    }
}

/// End at the file.
pub struct Recorder {
    thread: JoinHandle<io::Result<()>>,
    end: Sender<End>,
    overrun: Arc<AtomicBool>,
}

impl Recorder {
    /// Starts a log in `file`, written on its own thread.
    pub fn start<W: Write + Send + 'static>(file: W, header: &LogHeader) -> io::Result<(Journal, Self)> {
        let (tape, recorder) = Self::begin::<W, Pending>(file, header)?;
        Ok((Journal(tape), recorder))
    }

    /// Starts a log of the entries that `P` packs.
    pub(crate) fn begin<W: Write + Send + 'static, P: Pack>(
        mut file: W,
        header: &LogHeader,
    ) -> io::Result<(Tape<P::Entry>, Self)> {
        file.write_all(MAGIC.as_bytes())?;
        block(&mut file, 0, header)?;
        // A killed run leaves a log with its identification.
        file.flush()?;
        let (producer, entries) = ring(RING);
        let (end, ends) = mpsc::channel();
        let overrun = Arc::<AtomicBool>::default();
        let writing = move || write::<W, P>(file, entries, &ends);
        let thread = thread::Builder::new().name("log".into()).spawn(writing)?;
        let tape = Tape { ring: producer, overrun: overrun.clone() };
        Ok((tape, Self { thread, end, overrun }))
    }

    /// Writes the remaining entries and `end`; to be called when the emulation has ended.
    ///
    /// A log without its end is refused on replay. If the disk was too slow, the end is omitted,
    /// and this returns an error.
    pub fn finish(self, end: End) -> io::Result<()> {
        let overrun = self.overrun.load(Ordering::Acquire);
        if overrun {
            drop(self.end);
        } else {
            // Fails only if the thread has ended with an error, which is returned below.
            let _ = self.end.send(end);
        }
        let written = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.and(match overrun {
            false => Ok(()),
            true => Err(io::Error::other(
                "inputs came faster than they could be written, so the log lacks its end and cannot be replayed; a \
                 faster disk, or a file in memory (/dev/shm), may do",
            )),
        })
    }
}

/// Entries that are not written yet.
pub(crate) trait Pack: Default + Send + 'static {
    type Entry: Copy + Send + 'static;

    fn take(&mut self, entry: Self::Entry);
    /// Approximate size in bytes.
    fn bytes(&self) -> usize;
    /// Writes all complete entries, to which no later entry belongs.
    fn write_whole<W: Write>(&mut self, file: &mut W) -> io::Result<()>;
    /// Writes all.
    fn write<W: Write>(&mut self, file: &mut W) -> io::Result<()>;
}

/// Writes until the end is known, or the sender is dropped.
fn write<W: Write, P: Pack>(
    mut file: W,
    mut entries: Consumer<P::Entry>,
    ends: &Receiver<End>,
) -> io::Result<()> {
    let mut pending = P::default();
    let mut idle = 0;
    loop {
        // The emulation has ended before its end is sent, so the ring then has all remaining
        // entries.
        let told = ends.recv_timeout(Duration::from_millis(if entries.is_empty() { 2 } else { 0 }));
        while entries.pop_each(4096, |entry| pending.take(entry)) > 0 {
            if pending.bytes() >= BLOCK {
                pending.write_whole(&mut file)?;
            }
        }
        match told {
            Err(RecvTimeoutError::Timeout) if entries.is_empty() => {
                idle += 1;
                if idle == FLUSH {
                    idle = 0;
                    pending.write_whole(&mut file)?;
                    file.flush()?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                pending.write(&mut file)?;
                return file.flush();
            }
            Ok(end) => {
                pending.write(&mut file)?;
                block(&mut file, 2, &end)?;
                return file.flush();
            }
        }
    }
}

#[derive(Default)]
struct Pending {
    wakes: Vec<Wake>,
    /// Approximate size in bytes.
    bytes: usize,
    events: u64,
    at: u64,
    /// Time of the last input, or of its wake.
    read_at: u64,
}

impl Pack for Pending {
    type Entry = Entry;

    fn take(&mut self, entry: Entry) {
        self.bytes += 11;
        match entry {
            Entry::Wake { events, at } => {
                let (events, at) = (events, at.as_ps());
                let wake = Wake { events: events - self.events, at: at - self.at, inputs: Vec::new() };
                (self.events, self.at, self.read_at) = (events, at, at);
                self.wakes.push(wake);
            }
            Entry::Input { at, input } => {
                let wake = self.wakes.last_mut().expect("an input follows its wake");
                wake.inputs.push((at.as_ps() - self.read_at, input.into()));
                self.read_at = at.as_ps();
            }
        }
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes all but the last wake, which may lack inputs.
    fn write_whole<W: Write>(&mut self, file: &mut W) -> io::Result<()> {
        let last = self.wakes.pop();
        self.write(file)?;
        self.bytes += 11 * last.as_ref().map_or(0, |wake| wake.inputs.len());
        self.wakes.extend(last);
        Ok(())
    }

    fn write<W: Write>(&mut self, file: &mut W) -> io::Result<()> {
        if self.wakes.is_empty() {
            return Ok(());
        }
        block(file, 1, &self.wakes)?;
        self.wakes.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Writes a block of `kind`.
pub(crate) fn block<W: Write, T: Serialize>(file: &mut W, kind: u8, value: &T) -> io::Result<()> {
    let bytes = postcard::to_extend(value, vec![kind]).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    file.write_all(&length.to_le_bytes())?;
    file.write_all(&crc32fast::hash(&bytes).to_le_bytes())?;
    file.write_all(&bytes)
}
