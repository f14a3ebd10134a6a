//! Placement and scheduling of threads.
//!
//! A spinning clock needs a processor without competition. On an ordinary machine three measures
//! help, in this order: a processor that other busy threads are kept off; no deep idle (an open
//! `/dev/cpu_dma_latency` holding 0 reduces a blocking wake-up from 50 us to 5 us); and sometimes a
//! real-time priority. The last has drawbacks: with the default throttle a spinner of `SCHED_FIFO`
//! loses 50 ms in every second, and a thread that it starts inherits policy and processor, and
//! starves before it can leave. [`spawn_on`] therefore sets both in the attributes with which the
//! thread is created, so a thread never runs elsewhere.
//!
//! A run is correct without any of this. A refused request is returned as [`RefusedBySystem`] for the
//! report.

#![allow(unsafe_code, reason = "thread attributes and the handles made with them exist in no safe form")]

use std::ffi::{CString, c_int, c_void};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::{self, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::RefusedBySystem;

/// Processor and priority of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadPlacement {
    /// Number of the one processor it runs on; that of the parent's affinity if `None`.
    pub core: Option<usize>,
    /// Priority under `SCHED_FIFO`, 1 to 99; the ordinary policy if `None`.
    pub fifo: Option<u8>,
}

impl ThreadPlacement {
    /// Processor `core`, under the ordinary policy.
    pub fn on(core: usize) -> Self {
        Self { core: Some(core), fifo: None }
    }
}

/// Numbers of the processors that this thread may run on.
pub fn cores() -> Vec<usize> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false)).collect()
}

/// Places the calling thread, and returns the refusals.
pub fn place(placement: ThreadPlacement) -> Vec<RefusedBySystem> {
    let mut refused = Vec::new();
    if let Some(core) = placement.core
        && let Err(why) = set_of(core).and_then(|set| Ok(sched_setaffinity(Pid::from_raw(0), &set)?))
    {
        refused.push(no_core(core, why));
    }
    if let Some(priority) = placement.fifo {
        let parameters = priority_of(priority);
        // Children would inherit the policy and starve; they get the ordinary one.
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        // SAFETY: the pointer is to a live value of the right type; 0 is the calling thread.
        if unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } != 0 {
            refused.push(no_fifo(priority, io::Error::last_os_error()));
        }
    }
    refused
}

fn set_of(core: usize) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(set)
}

fn priority_of(priority: u8) -> libc::sched_param {
    // SAFETY: a plain structure of integers, for which all zeros are valid.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = c_int::from(priority);
    parameters
}

fn no_core(core: usize, why: io::Error) -> RefusedBySystem {
    RefusedBySystem::new(format!("run on processor {core}"), why)
        .needing("CAP_SYS_NICE")
        .advising("`nproc` and the process's cpuset say which processors there are")
}

fn no_fifo(priority: u8, why: io::Error) -> RefusedBySystem {
    RefusedBySystem::new(format!("run with real-time priority {priority}"), why)
        .needing("CAP_SYS_NICE")
        .advising("a priority under SCHED_FIFO is 1 to 99")
}

/// Thread made by [`spawn_on`]. Dropping it without [`join`](Self::join) detaches the thread.
pub struct PlacedThread<T> {
    thread: libc::pthread_t,
    result: std::sync::mpsc::Receiver<thread::Result<T>>,
    joined: bool,
    /// Refused parts of the placement.
    pub refused: Vec<RefusedBySystem>,
}

impl<T> PlacedThread<T> {
    /// Waits for the thread to end; the error is its panic.
    pub fn join(mut self) -> thread::Result<T> {
        self.joined = true;
        // SAFETY: the thread was created joinable, and is joined or detached once: `self` is
        // consumed.
        unsafe { libc::pthread_join(self.thread, std::ptr::null_mut()) };
        self.result.recv().expect("a thread sends its result before it ends")
    }
}

impl<T> Drop for PlacedThread<T> {
    fn drop(&mut self) {
        if !self.joined {
            // SAFETY: as in `join`, which sets `joined`.
            unsafe { libc::pthread_detach(self.thread) };
        }
    }
}

type Body = Box<dyn FnOnce() + Send>;

extern "C" fn start(body: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn_on` passes a box made for this call alone, with contents that are `Send`.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    body();
    std::ptr::null_mut()
}

/// Starts a thread that runs `f` with `placement` from its first instruction.
///
/// Refused parts of the placement are omitted, and listed in [`PlacedThread::refused`]. `name` is cut to
/// the 15 bytes that the kernel keeps. An error means that there is no thread.
pub fn spawn_on<T: Send + 'static>(
    placement: ThreadPlacement,
    name: &str,
    f: impl FnOnce() -> T + Send + 'static,
) -> Result<PlacedThread<T>, RefusedBySystem> {
    let (send, result) = std::sync::mpsc::channel();
    let name = CString::new(name.bytes().filter(|byte| *byte != 0).take(15).collect::<Vec<u8>>())
        .expect("zeros are left out");
    let body: Body = Box::new(move || {
        // SAFETY: the name has at most 16 bytes including the final zero.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
        let outcome = panic::catch_unwind(AssertUnwindSafe(f));
        // The receiver is gone if the thread was detached.
        let _ = send.send(outcome);
    });
    let body = Box::into_raw(Box::new(body));
    // Only attempts without each part show which one was refused.
    let ThreadPlacement { core, fifo } = placement;
    let attempts = [(core, fifo), (core, None), (None, fifo), (None, None)];
    let mut first = None;
    for (attempt, (with_core, with_fifo)) in attempts.into_iter().enumerate() {
        if attempts[..attempt].contains(&(with_core, with_fifo)) {
            continue;
        }
        match create(ThreadPlacement { core: with_core, fifo: with_fifo }, body) {
            Ok(thread) => {
                let code = first.as_ref().and_then(io::Error::raw_os_error).unwrap_or(libc::EINVAL);
                let why = || io::Error::from_raw_os_error(code);
                let no_core = core.filter(|_| with_core.is_none()).map(|core| no_core(core, why()));
                let no_fifo = fifo.filter(|_| with_fifo.is_none()).map(|priority| no_fifo(priority, why()));
                let refused = no_core.into_iter().chain(no_fifo).collect();
                return Ok(PlacedThread { thread, result, joined: false, refused });
            }
            Err(why) => _ = first.get_or_insert(why),
        }
    }
    // SAFETY: no thread was created, so this function still owns the box.
    drop(unsafe { Box::from_raw(body) });
    Err(RefusedBySystem::new(
        "start a thread",
        first.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EAGAIN)),
    ))
}

fn create(placement: ThreadPlacement, body: *mut Body) -> io::Result<libc::pthread_t> {
    let ok = |code: c_int| if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) };
    let set = placement.core.map(set_of).transpose()?;
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: the attributes are initialised by the first call, used only after it has succeeded
    // and destroyed once. `CpuSet` is a transparent `cpu_set_t`. `start` takes over `body` if and
    // only if a thread is created.
    unsafe {
        ok(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
        let attributes = attributes.as_mut_ptr();
        let created = (|| {
            if let Some(set) = &set {
                let set: *const CpuSet = set;
                ok(libc::pthread_attr_setaffinity_np(attributes, size_of::<libc::cpu_set_t>(), set.cast()))?;
            }
            let policy = if placement.fifo.is_some() { libc::SCHED_FIFO } else { libc::SCHED_OTHER };
            let parameters = priority_of(placement.fifo.unwrap_or(0));
            ok(libc::pthread_attr_setinheritsched(attributes, libc::PTHREAD_EXPLICIT_SCHED))?;
            ok(libc::pthread_attr_setschedpolicy(attributes, policy))?;
            ok(libc::pthread_attr_setschedparam(attributes, &raw const parameters))?;
            ok(libc::pthread_create(thread.as_mut_ptr(), attributes, start, body.cast()))?;
            Ok(thread.assume_init())
        })();
        libc::pthread_attr_destroy(attributes);
        created
    }
}

/// Keeps all processors out of deep idle while it lives.
#[derive(Debug)]
pub struct Awake {
    _request: File,
}

/// Requests that no processor enters an idle state with a wake-up latency.
pub fn keep_awake() -> Result<Awake, RefusedBySystem> {
    let path = "/dev/cpu_dma_latency";
    let request = OpenOptions::new().write(true).open(path).and_then(|mut file| {
        // The request of a latency of 0 us holds while the file is open.
        file.write_all(&0_i32.to_ne_bytes())?;
        Ok(file)
    });
    request.map(|request| Awake { _request: request }).map_err(|why| {
        RefusedBySystem::new(format!("keep the processors awake by {path}"), why)
            .needing("write access to /dev/cpu_dma_latency (CAP_DAC_OVERRIDE)")
            .advising("this kernel has no such device; waits that block will be some 10 us later")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_is_put_from_the_start() {
        for core in cores() {
            let placed = spawn_on(ThreadPlacement::on(core), "a name that is far too long", move || {
                // SAFETY: takes no arguments and changes no memory.
                let here = unsafe { libc::sched_getcpu() };
                (here as usize, cores(), std::fs::read_to_string("/proc/thread-self/comm").unwrap())
            })
            .unwrap();
            assert!(placed.refused.is_empty());
            let (here, allowed, name) = placed.join().unwrap();
            assert_eq!((here, allowed), (core, vec![core]));
            assert_eq!(name, "a name that is \n");
        }
    }

    #[test]
    fn what_cannot_be_is_said_and_the_thread_runs_all_the_same() {
        let nowhere = ThreadPlacement { core: Some(1000), fifo: Some(120) };
        let placed = spawn_on(nowhere, "lost", || 7).unwrap();
        let reasons: Vec<String> = placed.refused.iter().map(ToString::to_string).collect();
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert!(reasons[0].contains("processor 1000") && reasons[1].contains("1 to 99"), "{reasons:?}");
        assert_eq!(placed.join().unwrap(), 7);
        assert_eq!(thread::spawn(move || place(nowhere).len()).join().unwrap(), 2);
    }

    #[test]
    fn a_panic_comes_back_from_join() {
        let placed =
            spawn_on(ThreadPlacement::default(), "panics", || panic::resume_unwind(Box::new(5_u8))).unwrap();
        let payload: Box<dyn std::any::Any + Send> = placed.join().map(|(): ()| ()).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&5_u8));
    }

    #[test]
    fn children_of_a_real_time_thread_are_ordinary() {
        let policies = thread::spawn(|| {
            let refused = place(ThreadPlacement { core: None, fifo: Some(1) });
            // SAFETY: 0 is the calling thread.
            let policy = || unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
            let child = spawn_on(ThreadPlacement::default(), "child", policy).unwrap().join().unwrap();
            (refused, policy(), child)
        });
        let (refused, own, child) = policies.join().unwrap();
        match refused.first() {
            Some(refused) => println!("skipped: {refused}"),
            None => assert_eq!(own, libc::SCHED_FIFO),
        }
        assert_eq!(child, libc::SCHED_OTHER);
    }
}
