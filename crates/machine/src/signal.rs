//! Interrupts and the end of a run, as signals.
//!
//! An adapter interrupts its host's processor between two instructions. The closest equivalent
//! between threads of a process is a signal (thesis 4 raises END's interrupts so). It takes 11 to
//! 13 us to reach a spinning thread, where a polled flag takes 0.1 us; but the thread need not
//! poll, and the signal ends a system call in which it sleeps.
//!
//! A handler runs between any two instructions, also inside the allocator, so it only increments an
//! atomic counter and stores the time. Real-time signals are queued: as many arrive as were raised.

#![allow(unsafe_code, reason = "handlers are installed and signals sent by no safe call")]

use std::ffi::c_int;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use laxity_engine::{InputDoorbell, Ticks};
use nix::unistd::{Pid, gettid};

use crate::RefusedBySystem;

/// Number of interrupt lines of a process.
const LINES: usize = 16;

struct State {
    in_use: AtomicBool,
    count: AtomicU64,
    last: AtomicU64,
}

static STATES: [State; LINES] =
    [const { State { in_use: AtomicBool::new(false), count: AtomicU64::new(0), last: AtomicU64::new(0) } };
        LINES];

/// Clock of the handler.
static TICKS: OnceLock<Ticks> = OnceLock::new();

/// First signal of the lines; glibc reserves the lowest, and debuggers use the next.
fn first_signal() -> c_int {
    libc::SIGRTMIN() + 4
}

extern "C" fn on_interrupt(signal: c_int) {
    let line = usize::try_from(signal - first_signal()).ok();
    if let (Some(state), Some(ticks)) = (line.and_then(|line| STATES.get(line)), TICKS.get()) {
        state.last.store(ticks.read(), Ordering::Relaxed);
        state.count.fetch_add(1, Ordering::Release);
    }
}

fn install(signal: c_int, handler: extern "C" fn(c_int), flags: c_int) -> io::Result<libc::sigaction> {
    // SAFETY: both are plain structures for which all zeros are valid, and both pointers live
    // through the call. The handlers of this module touch only atomics, which is safe in a handler.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        let mut old: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = flags;
        libc::sigemptyset(&raw mut action.sa_mask);
        match libc::sigaction(signal, &raw const action, &raw mut old) {
            0 => Ok(old),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

extern "C" fn on_file_size(_: c_int) {}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error of that write, instead of
/// the end of the process.
///
/// The signal is handled rather than ignored, because child processes would inherit an ignored one.
pub fn survive_file_size_limit() {
    // Fails only for a signal that does not exist.
    let _ = install(libc::SIGXFSZ, on_file_size, libc::SA_RESTART);
}

fn restore(signal: c_int, old: &libc::sigaction) {
    // SAFETY: `old` is the system's value for this signal. The call fails only for signals that do
    // not exist.
    unsafe { libc::sigaction(signal, old, ptr::null_mut()) };
}

/// Receiving end of an interrupt line; stays on the interrupted thread.
pub struct InterruptLine {
    line: usize,
    old: libc::sigaction,
    seen: u64,
    _not_send: PhantomData<*const ()>,
}

/// Raising end of an interrupt line; any number of threads may have one.
#[derive(Debug, Clone, Copy)]
pub struct Raise {
    process: Pid,
    thread: Pid,
    signal: c_int,
}

/// Interrupts that have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivedInterrupts {
    /// Number since the last [`take`](InterruptLine::take).
    pub count: u64,
    /// Tick count at the last of them, or at one that arrived while they were taken.
    pub last: u64,
}

impl InterruptLine {
    /// Creates a line to the calling thread, with arrivals stamped by `ticks`.
    ///
    /// All lines use the ticks of the first. An interrupt ends a waiting system call (`EINTR`).
    pub fn line(ticks: Ticks) -> Result<(Self, Raise), RefusedBySystem> {
        TICKS.get_or_init(|| ticks);
        let exhausted = || {
            RefusedBySystem::new("make an interrupt line", io::Error::from_raw_os_error(libc::EBUSY))
                .advising("a process has 16 lines; drop one")
        };
        let free = |state: &State| !state.in_use.swap(true, Ordering::AcqRel);
        let line = STATES.iter().position(free).ok_or_else(exhausted)?;
        let signal = first_signal() + line as c_int;
        let old = install(signal, on_interrupt, 0).map_err(|why| {
            STATES[line].in_use.store(false, Ordering::Release);
            RefusedBySystem::new(format!("handle signal {signal}"), why)
        })?;
        // SAFETY: the set is initialised before its use, and lives through both calls.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
        }
        let seen = STATES[line].count.load(Ordering::Acquire);
        let raise = Raise { process: Pid::this(), thread: gettid(), signal };
        Ok((Self { line, old, seen, _not_send: PhantomData }, raise))
    }

    /// Whether an untaken interrupt has arrived: one load.
    #[inline]
    pub fn is_pending(&self) -> bool {
        STATES[self.line].count.load(Ordering::Acquire) != self.seen
    }

    /// Takes all interrupts that have arrived.
    #[inline]
    pub fn take(&mut self) -> Option<ArrivedInterrupts> {
        let state = &STATES[self.line];
        let count = state.count.load(Ordering::Acquire) - self.seen;
        self.seen += count;
        (count > 0).then(|| ArrivedInterrupts { count, last: state.last.load(Ordering::Relaxed) })
    }
}

impl InputDoorbell for InterruptLine {
    #[inline]
    fn is_rung(&mut self) -> bool {
        self.is_pending()
    }
}

impl Drop for InterruptLine {
    fn drop(&mut self) {
        // A signal in flight would end the process by the default action, which is therefore
        // replaced by "ignore".
        if self.old.sa_sigaction == libc::SIG_DFL {
            self.old.sa_sigaction = libc::SIG_IGN;
        }
        restore(first_signal() + self.line as c_int, &self.old);
        STATES[self.line].in_use.store(false, Ordering::Release);
    }
}

impl Raise {
    /// Interrupts the thread.
    ///
    /// Refused if the thread has ended or the system's queue of signals is full.
    pub fn raise(self) -> Result<(), RefusedBySystem> {
        // SAFETY: sends a number to a thread of this process; the line has installed its handler.
        let sent = unsafe {
            libc::syscall(libc::SYS_tgkill, self.process.as_raw(), self.thread.as_raw(), self.signal)
        };
        if sent == 0 {
            return Ok(());
        }
        let why = io::Error::last_os_error();
        Err(RefusedBySystem::new(format!("interrupt thread {}", self.thread), why)
            .advising("a thread that has ended takes none; `ulimit -i` says how many may be queued"))
    }
}

/// Time of the first signal, in milliseconds of the monotonic clock; 0 if there was none.
static STOPPED: AtomicU64 = AtomicU64::new(0);
static STOPPING: AtomicBool = AtomicBool::new(false);
/// Whether a later signal ends the process.
static MAY_END: AtomicBool = AtomicBool::new(false);

/// Signals that request a stop: from a user, from `timeout` and service managers, from a closed
/// terminal.
const STOP_SIGNALS: [c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
/// Milliseconds within which a signal counts as part of the first: `timeout` sends two, and a user
/// may press twice.
const SAME: u64 = 1000;

extern "C" fn on_stop(signal: c_int) {
    // SAFETY: plain structures for which all zeros are valid, and calls that POSIX lists as safe in
    // a handler.
    unsafe {
        let mut now: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
        let now = now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000 + 1;
        let first = STOPPED.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        if first.is_err_and(|first| now.saturating_sub(first) > SAME) && MAY_END.load(Ordering::Acquire) {
            let mut default: libc::sigaction = mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &raw const default, ptr::null_mut());
            // The signal is delivered when this handler returns.
            libc::raise(signal);
        }
    }
}

/// While it lives, `SIGINT`, `SIGTERM` and `SIGHUP` request a stop of the run instead of ending the
/// process.
///
/// A signal more than a second after the first ends the process, so that a run that ignores the
/// first can be ended. This applies only [while permitted](Self::while_it_may_end), and not while
/// resources that outlive the process are made or removed. A `SIGHUP` that is ignored at
/// installation, as under `nohup`, stays ignored.
pub struct StopOnSignal {
    old: Vec<(c_int, libc::sigaction)>,
    _not_sync: PhantomData<*const ()>,
}

/// Whether a stop was requested; a plain value for every thread.
#[derive(Debug, Clone, Copy)]
pub struct StopFlag(());

impl StopOnSignal {
    /// Installs the handlers. A process has at most one instance.
    pub fn install() -> Result<Self, RefusedBySystem> {
        if STOPPING.swap(true, Ordering::AcqRel) {
            let busy = io::Error::from_raw_os_error(libc::EBUSY);
            return Err(
                RefusedBySystem::new("catch SIGINT and SIGTERM", busy).advising("they are caught already")
            );
        }
        STOPPED.store(0, Ordering::Release);
        MAY_END.store(false, Ordering::Release);
        // An early return drops this value, which restores the handlers installed so far.
        let mut caught = Self { old: Vec::new(), _not_sync: PhantomData };
        for signal in STOP_SIGNALS {
            let old = install(signal, on_stop, 0)
                .map_err(|why| RefusedBySystem::new(format!("catch signal {signal}"), why))?;
            if signal == libc::SIGHUP && old.sa_sigaction == libc::SIG_IGN {
                restore(signal, &old);
            } else {
                caught.old.push((signal, old));
            }
        }
        Ok(caught)
    }

    /// Runs `f`, during which a signal more than a second after the first ends the process.
    pub fn while_it_may_end<R>(&self, f: impl FnOnce() -> R) -> R {
        MAY_END.store(true, Ordering::Release);
        let done = f();
        MAY_END.store(false, Ordering::Release);
        done
    }

    /// Flag that shows whether a stop was requested.
    pub fn flag(&self) -> StopFlag {
        StopFlag(())
    }
}

impl StopFlag {
    /// Whether a stop was requested: one load.
    #[inline]
    pub fn is_set(self) -> bool {
        STOPPED.load(Ordering::Acquire) != 0
    }
}

impl Drop for StopOnSignal {
    fn drop(&mut self) {
        for (signal, old) in &self.old {
            restore(*signal, old);
        }
        STOPPING.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn every_interrupt_arrives_at_its_thread_and_is_taken_once() {
        const COUNT: u64 = 1000;
        let ticks = Ticks::calibrate();
        let (send, receive) = mpsc::channel();
        let target = thread::spawn(move || {
            let (mut line, raise) = InterruptLine::line(ticks).unwrap();
            let (mut other, _raise) = InterruptLine::line(ticks).unwrap();
            let (mut taken, mut last) = (0, ticks.read());
            send.send(raise).unwrap();
            while taken < COUNT {
                if let Some(arrived) = line.take() {
                    assert!(arrived.last >= last, "time went back");
                    (taken, last) = (taken + arrived.count, arrived.last);
                }
                thread::yield_now();
            }
            assert_eq!((line.take(), other.take()), (None, None));
            taken
        });
        let raise = receive.recv().unwrap();
        for _ in 0..COUNT {
            while raise.raise().is_err() {
                thread::yield_now();
            }
        }
        assert_eq!(target.join().unwrap(), COUNT);
        // A joined thread still exists for a moment.
        let refused = loop {
            match raise.raise() {
                Ok(()) => thread::yield_now(),
                Err(refused) => break refused,
            }
        };
        assert!(refused.to_string().contains("has ended"), "{refused}");
    }

    #[test]
    fn a_signal_asks_to_stop_and_the_old_handling_comes_back() {
        // SAFETY: reads the current action into a live value.
        let current = || unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(libc::SIGTERM, ptr::null(), &raw mut action);
            action.sa_sigaction
        };
        let before = current();
        for _ in 0..2 {
            let stop = StopOnSignal::install().unwrap();
            assert!(StopOnSignal::install().is_err());
            assert!(!stop.flag().is_set(), "a stop of an earlier run is not ours");
            // SAFETY: the signal is caught.
            unsafe { libc::raise(libc::SIGTERM) };
            assert!(stop.flag().is_set());
            // A second signal at once is ignored, even where it may end the process. SAFETY: as
            // above.
            stop.while_it_may_end(|| unsafe { libc::raise(libc::SIGTERM) });
            // SAFETY: as above.
            unsafe { libc::raise(libc::SIGHUP) };
        }
        assert_eq!(current(), before);
    }
}
