//! Effects on a program when the adapters' process dies, or ends. Order and accounting are
//! asserted, no times.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::support::zero;
use crate::common::alone;
use laxity_emulator::via::{Setup, serve, socket_of};
use laxity_machine::place::ThreadPlacement;
use laxity_model::via::Firmware;
use laxity_units::Span;
use laxity_vi::{
    Address, CompletionQueue, Descriptor, Nic, Region, State, Status, Vi, ViAttributes, ViError,
};

const DIRECTORY: &str = "LAXITY_TEST_ADAPTERS";
const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

fn setup() -> Setup {
    Setup {
        adapter: zero(Firmware::QualityOfService),
        nodes: 2,
        latency: Span::from_ns(500),
        longest: Setup::LONGEST,
        recorded: false,
    }
}

/// Adapters in a separate process, which is killed on drop.
struct Elsewhere {
    child: Child,
    directory: PathBuf,
}

impl Elsewhere {
    fn begin(test: &str) -> Self {
        let name = test.rsplit("::").next().unwrap_or(test);
        let directory = std::env::temp_dir().join(format!("laxity-vi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
        let mut child = command.env(DIRECTORY, &directory).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().expect("it is piped")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with("serves"))), "it ended first");
        Self { child, directory }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// In a process started for this, serves adapters until it is killed; in the test itself, has no
/// effect.
fn play() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let _service = serve(setup(), Path::new(&directory), ThreadPlacement::default()).unwrap();
    println!("serves");
    loop {
        std::thread::park();
    }
}

struct Side {
    nic: Nic,
    _memory: Region,
    queue: CompletionQueue,
    vi: Vi,
}

/// Virtual interface at an adapter with three receive descriptors.
fn side(directory: &Path, node: usize) -> Side {
    let nic = Nic::open(socket_of(directory, node)).unwrap();
    let tag = nic.create_tag().unwrap();
    let memory = nic.register(4096, tag, Default::default()).unwrap();
    let queue = nic.create_completion_queue(16).unwrap();
    let attributes = ViAttributes { receive_completions: Some(&queue), ..ViAttributes::new(tag) };
    let mut vi = nic.create_vi(&attributes).unwrap();
    let room = [memory.segment(0..4096)];
    vi.post_receives(&[Descriptor::receive(&room); 3]).unwrap();
    Side { nic, _memory: memory, queue, vi }
}

fn sides(directory: &Path) -> [Side; 2] {
    let [mut here, there] = [0, 1].map(|node| side(directory, node));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let arrived = there.nic.wait_connection(1, PATIENCE).unwrap();
            there.nic.accept(arrived, &there.vi).unwrap();
        });
        here.vi.connect(Address { host: 1, discriminator: 1 }, PATIENCE).unwrap();
    });
    [here, there]
}

/// Results of waiting programs when `ends` ends the adapters.
#[allow(clippy::disallowed_methods, reason = "so that those who wait have gone to sleep")]
fn seen(directory: &Path, ends: impl FnOnce()) {
    let [mut here, mut there] = sides(directory);
    here.vi.post_send(&Descriptor::send(&[])).unwrap();
    assert!(here.vi.wait_send(PATIENCE).unwrap().status.is_done());
    assert!(there.vi.wait_receive(PATIENCE).unwrap().status.is_done());
    assert!(there.queue.wait(PATIENCE).is_ok());
    let mut third = side(directory, 0);
    std::thread::scope(|scope| {
        let Side { nic, vi, .. } = &mut here;
        let waiting = scope.spawn(|| vi.wait_receive(None).unwrap());
        let called = scope.spawn(|| nic.wait_connection(9, None));
        let calls = scope.spawn(|| third.vi.connect(Address { host: 1, discriminator: 8 }, None));
        let (queue, receiver) = (&mut there.queue, &mut there.vi);
        let announced = scope.spawn(|| queue.wait(None));
        // The threads sleep by now, or detect the end before they do: both are valid.
        std::thread::sleep(Duration::from_millis(20));
        ends();
        let flushed = Status::FLUSHED.and(Status::TRANSPORT_ERROR);
        assert!(waiting.join().unwrap().status.has(flushed.and(Status::RECEIVE)));
        assert!(matches!(called.join().unwrap(), Err(ViError::Lost)));
        assert!(matches!(calls.join().unwrap(), Err(ViError::Lost)));
        assert!(matches!(announced.join().unwrap(), Err(ViError::Lost)));
        assert!(receiver.wait_receive(None).unwrap().status.has(Status::FLUSHED));
    });
    // The rest is flushed, too, without waiting, and so are later descriptors.
    assert!(here.nic.is_lost() && here.vi.state() == State::Error);
    for _ in 0..2 {
        assert!(here.vi.poll_receive().expect("it was posted").status.has(Status::FLUSHED));
    }
    assert!(here.vi.poll_receive().is_none());
    here.vi.post_send(&Descriptor::send(&[])).unwrap();
    assert!(here.vi.wait_send(None).unwrap().status.has(Status::FLUSHED));
    assert!(matches!(here.nic.create_tag(), Err(ViError::Lost)));
}

#[test]
fn who_waits_is_woken_when_the_adapters_process_is_killed() {
    let _turn = alone();
    play();
    let mut elsewhere = Elsewhere::begin("via::lost::who_waits_is_woken_when_the_adapters_process_is_killed");
    let directory = elsewhere.directory.clone();
    seen(&directory, || elsewhere.kill());
    // The files of its sockets still exist, and block no run.
    assert!(socket_of(&directory, 0).exists());
    let service = serve(setup(), &directory, ThreadPlacement::default()).unwrap();
    assert!(Nic::open(socket_of(&directory, 0)).is_ok());
    // The directory is in use by another run's adapters.
    assert!(serve(setup(), &directory, ThreadPlacement::default()).is_err());
    assert!(Nic::open(socket_of(&directory, 1)).is_ok());
    service.stop().unwrap();
}

#[test]
fn who_waits_is_woken_when_the_adapters_are_closed() {
    let _turn = alone();
    let directory = std::env::temp_dir().join(format!("laxity-vi-closed-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let service = serve(setup(), &directory, ThreadPlacement::default()).unwrap();
    seen(&directory, || drop(service.stop().unwrap()));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn who_rings_is_not_held_up_by_adapters_that_are_gone() {
    let _turn = alone();
    play();
    let mut elsewhere = Elsewhere::begin("via::lost::who_rings_is_not_held_up_by_adapters_that_are_gone");
    let [mut here, _there] = sides(&elsewhere.directory.clone());
    elsewhere.kill();
    // More doorbells than the queue holds, without a consumer.
    for _ in 0..3000 {
        here.vi.post_send(&Descriptor::send(&[])).unwrap();
        assert!(here.vi.wait_send(PATIENCE).unwrap().status.has(Status::FLUSHED));
    }
}
