//! Small messages per second through two virtual interfaces, between two processes.
//!
//! The adapters are END on its own processor, with stages of zero time; both programs share the
//! other processor. As the baseline, in the same rounds, the same programs use the same rings with
//! a bare forwarder in place of END: it reads doorbells and descriptors, copies and completes. The
//! remaining fraction of its rate is the price of the firmware.
//!
//! With `--steps N` there is no measurement: N messages pass adapters that the same thread advances
//! as it posts and reaps, so that a tool that counts instructions can determine the cost of one,
//! independently of the machine's load.
//!
//! `cargo bench -p laxity-emulator --bench vi`, or with `-- --quick` for fewer rounds. With
//! `--fifo` END, the forwarder and the programs have a real-time priority, which a machine with
//! other load needs.

#[cfg(target_os = "linux")]
#[path = "support/rounds.rs"]
mod rounds;

#[cfg(target_os = "linux")]
mod contest {
    use std::collections::VecDeque;
    use std::io::{BufRead, BufReader};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use laxity_emulator::via::{Setup, Stepped, serve, socket_of};
    use laxity_machine::place::{ThreadPlacement, cores, place, spawn_on};
    use laxity_model::via::{Engines, Firmware, FirmwareCosts, ViaConfig};
    use laxity_units::Span;
    use laxity_vi::provider::{
        self, Answer, ControlRequest, Hearer, Memory, ReadDescriptor, Socket, ViQueues, Which,
    };
    use laxity_vi::{
        Address, Attributes, Completion, DEPTH, Descriptor, Nic, Segment, State, Status, Vi, ViAttributes,
        ViRefusal,
    };

    use crate::rounds::{interleaved, median, rounds};

    const COUNT: u64 = 1 << 20;
    /// Messages of a piece, each of which has a rate.
    const PIECE: u64 = 1 << 13;
    /// Bytes of a message.
    const SIZE: usize = 64;
    /// Messages per response.
    const BULK: u64 = 64;
    /// Bulks in flight.
    const WINDOW: u64 = 2;
    const ROLE: &str = "LAXITY_BENCH_ROLE";
    /// Tells programs to run with real-time priority.
    const FIFO: &str = "LAXITY_BENCH_FIFO";
    const SOCKET: &str = "LAXITY_BENCH_SOCKET";

    fn at(core: usize) -> ThreadPlacement {
        let fifo = std::env::var_os(FIFO).is_some() || std::env::args().any(|argument| argument == "--fifo");
        ThreadPlacement { core: Some(core), fifo: fifo.then_some(1) }
    }

    fn opened(socket: &Path) -> (Nic, laxity_vi::Region, Vi) {
        let nic = Nic::open(socket).expect("the adapter is there");
        let tag = nic.create_tag().expect("there are tags");
        let memory = nic.register(4096, tag, Default::default()).expect("there is memory");
        let mut vi = nic.create_vi(&ViAttributes::new(tag)).expect("there are virtual interfaces");
        let room = [memory.segment(2048..2048 + SIZE)];
        let all = vec![Descriptor::receive(&room); DEPTH as usize];
        vi.post_receives(&all).expect("there is room");
        (nic, memory, vi)
    }

    /// Polls, and yields to the other program in between.
    fn until(mut look: impl FnMut() -> bool) {
        while !look() {
            std::thread::yield_now();
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a program measures its own time")]
    fn sends(socket: &Path) {
        let (_nic, memory, mut vi) = opened(socket);
        vi.connect(Address { host: 1, discriminator: 1 }, None).expect("the other side accepts");
        let message = [memory.segment(0..SIZE)];
        let room = [memory.segment(2048..2048 + SIZE)];
        let (mut sent, mut done, mut answered) = (0, 0, 0);
        let mut pieces: Vec<Instant> = Vec::new();
        while answered < COUNT {
            while sent < COUNT && sent - answered < WINDOW * BULK && sent - done < u64::from(DEPTH) {
                memory.write(0, &sent.to_ne_bytes());
                vi.post_send(&Descriptor::send(&message)).expect("there is room");
                sent += 1;
            }
            until(|| {
                let before = answered + done;
                while let Some(completion) = vi.poll_send() {
                    assert!(completion.status.is_done(), "{completion:?}");
                    done += 1;
                }
                while vi.poll_receive().is_some() {
                    answered += BULK;
                    if answered % PIECE == 0 {
                        pieces.push(Instant::now());
                    }
                    vi.post_receive(&Descriptor::receive(&room)).expect("one has just gone");
                }
                answered + done > before
            });
        }
        let mut times: Vec<f64> = pieces.windows(2).map(|ends| (ends[1] - ends[0]).as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        println!("rate {}", PIECE as f64 / times[times.len() / 2]);
    }

    fn receives(socket: &Path) {
        let (nic, memory, mut vi) = opened(socket);
        println!("ready");
        let arrived = nic.wait_connection(1, None).expect("the other side calls");
        nic.accept(arrived, &vi).expect("this side is idle");
        let message = [memory.segment(0..SIZE)];
        let room = [memory.segment(2048..2048 + SIZE)];
        for number in 0..COUNT {
            let mut came = None;
            until(|| {
                while vi.poll_send().is_some() {}
                came = vi.poll_receive();
                came.is_some()
            });
            assert!(came.is_some_and(|came| came.status.is_done() && came.length == SIZE as u32));
            vi.post_receive(&Descriptor::receive(&room)).expect("one has just gone");
            if (number + 1) % BULK == 0 {
                vi.post_send(&Descriptor::send(&message)).expect("there is room");
            }
        }
        // The last response has to be sent before this side ends.
        until(|| vi.poll_send().is_some() || vi.outstanding().0 == 0 || vi.state() != State::Connected);
    }

    /// Rate of two programs at the adapters in `directory`: that of the median piece, without the
    /// first, during which the other side may not have seen the connection yet.
    fn rate(directory: &Path) -> f64 {
        let start = |role: &str, node: usize| {
            let mut command = Command::new(std::env::current_exe().expect("it has a path"));
            if at(0).fifo.is_some() {
                command.env(FIFO, "yes");
            }
            command.env(ROLE, role).env(SOCKET, socket_of(directory, node)).stdout(Stdio::piped());
            command.spawn().expect("a program can be started")
        };
        let mut receiver = start("receives", 1);
        let mut line = String::new();
        let said = receiver.stdout.as_mut().expect("it is piped");
        BufReader::new(said).read_line(&mut line).expect("it says that it is ready");
        let sender = start("sends", 0);
        let said = sender.wait_with_output().expect("it ends");
        let ended = receiver.wait_with_output().expect("it ends");
        assert!(said.status.success() && ended.status.success());
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        said.trim().strip_prefix("rate ").and_then(|rate| rate.parse().ok()).expect("it says its rate")
    }

    /// Two adapters with stages of zero time.
    fn two_at_once() -> Setup {
        let adapter = ViaConfig {
            costs: FirmwareCosts::FREE,
            engines: Engines::FREE,
            ..ViaConfig::table_1(Firmware::QualityOfService)
        };
        Setup { adapter, nodes: 2, latency: Span::ZERO, longest: Setup::LONGEST, recorded: false }
    }

    fn by_end(directory: &Path, core: usize) -> f64 {
        let service = serve(two_at_once(), directory, at(core)).expect("the directory is ours");
        let rate = rate(directory);
        let served = service.stop().expect("it goes on to its end");
        assert_eq!((served.tally.lost, served.tally.errors), (0, 0));
        rate
    }

    struct Side {
        socket: Socket,
        bells: Option<Memory>,
        hearer: Hearer,
        queues: Option<ViQueues>,
        region: Option<(Memory, u64)>,
        heard: [u32; 2],
        receives: VecDeque<u32>,
    }

    impl Side {
        /// Handles a pending request; false if the process has gone.
        fn attend(&mut self, host: u32) -> bool {
            let Ok(datagram) = self.socket.receive() else { return true };
            let Some(datagram) = datagram else { return false };
            let (answer, file) = match ControlRequest::of(&datagram.words).expect("it asks rightly") {
                ControlRequest::Open => {
                    let (bells, file) = provider::doorbells().expect("there is memory");
                    self.bells = Some(bells);
                    let (many, bytes) = (64, 1 << 20);
                    let opened = Attributes {
                        host,
                        virtual_interfaces: many,
                        registrations: many,
                        registered_bytes: bytes,
                        depth: DEPTH,
                        tags: many,
                        completion_queues: many,
                        longest: Setup::LONGEST,
                        hosts: 2,
                    };
                    (Answer::Opened(opened), Some(file))
                }
                ControlRequest::Register { base, length, .. } => {
                    let file = datagram.file.expect("memory comes as a file");
                    self.region = Some((Memory::map(&file, length as usize).expect("it is sealed"), base));
                    (Answer::Made(1), None)
                }
                ControlRequest::CreateVi { .. } => {
                    let (queues, file) = ViQueues::create().expect("there is memory");
                    self.queues = Some(queues);
                    (Answer::Made(host), Some(file))
                }
                ControlRequest::Await(_) => {
                    let from = Address { host: 0, discriminator: 0 };
                    (Answer::Called { call: 1, from, bandwidth: laxity_vi::Bandwidth::None }, None)
                }
                ControlRequest::Connect { .. } | ControlRequest::Accept { .. } => {
                    self.queues.as_ref().expect("there is one").show(State::Connected);
                    (Answer::Done, None)
                }
                ControlRequest::CreateTag => (Answer::Made(1), None),
                ControlRequest::DestroyVi(_) | ControlRequest::Deregister(_) => (Answer::Done, None),
                _ => (Answer::Refused(ViRefusal::InvalidParameter), None),
            };
            self.socket.send(&answer.to_words(), file.as_ref()).is_ok()
        }

        fn bytes(&self, posted: &ReadDescriptor) -> (&Memory, usize, usize) {
            let segment = posted.segments()[0];
            let (memory, base) = self.region.as_ref().expect("it has registered memory");
            let offset = segment.address - base;
            assert!(memory.contains(offset, u64::from(segment.length)));
            (memory, offset as usize, segment.length as usize)
        }
    }

    /// Moves the messages that `from` has rung for to `to`.
    fn forward(from: &mut Side, to: &mut Side, data: &mut [u8; 4096], rung: &mut Vec<provider::Doorbell>) {
        let Some(bells) = &from.bells else { return };
        if !from.hearer.is_rung(bells) {
            return;
        }
        from.hearer.hear(bells, 32, |doorbell| rung.extend(doorbell));
        let mut moved = false;
        for doorbell in rung.drain(..) {
            for _ in 0..doorbell.count {
                let heard = &mut from.heard[doorbell.queue as usize];
                let number = *heard;
                *heard = heard.wrapping_add(1);
                if doorbell.queue == Which::Receive {
                    from.receives.push_back(number);
                    continue;
                }
                let sent =
                    from.queues.as_ref().expect("it rings for one").read(Which::Send, number).expect("right");
                let (memory, offset, length) = from.bytes(&sent);
                memory.read(offset, &mut data[..length]);
                let place = to.receives.pop_front().expect("programs post first");
                let room =
                    to.queues.as_ref().expect("it is connected").read(Which::Receive, place).expect("right");
                let (memory, offset, _) = to.bytes(&room);
                memory.write(offset, &data[..length]);
                let completion = Completion { status: Status::DONE, length: length as u32, immediate: None };
                to.queues.as_mut().expect("it is connected").complete(Which::Receive, &completion);
                from.queues.as_mut().expect("it rings for one").complete(Which::Send, &completion);
                moved = true;
            }
        }
        if moved {
            to.queues.as_ref().expect("it is connected").tell(Which::Receive);
            from.queues.as_ref().expect("it rings for one").tell(Which::Send);
        }
    }

    fn by_forwarder(directory: &Path, core: usize) -> f64 {
        let doors: Vec<Socket> = (0..2)
            .map(|node| Socket::listen(&socket_of(directory, node)).expect("the place is free"))
            .collect();
        let over = Arc::new(AtomicBool::new(false));
        let stop = over.clone();
        let forwarder = spawn_on(at(core), "forward", move || {
            let mut sides: Vec<Side> = Vec::new();
            while sides.len() < 2 {
                if let Ok(Some(socket)) = doors[1 - sides.len()].accept() {
                    let (hearer, receives) = (Hearer::default(), VecDeque::new());
                    let (bells, queues, region) = (None, None, None);
                    sides.push(Side { socket, bells, hearer, queues, region, heard: [0; 2], receives });
                }
                for (i, side) in sides.iter_mut().enumerate() {
                    side.attend(1 - i as u32);
                }
            }
            let (mut data, mut rung) = ([0; 4096], Vec::new());
            while !stop.load(Ordering::Relaxed) {
                let [one, other] = &mut sides[..] else { unreachable!("there are two") };
                for _ in 0..4096 {
                    forward(one, other, &mut data, &mut rung);
                    forward(other, one, &mut data, &mut rung);
                }
                for (i, side) in sides.iter_mut().enumerate() {
                    side.attend(1 - i as u32);
                }
            }
        });
        let forwarder = forwarder.expect("there is a thread to be had");
        let rate = rate(directory);
        over.store(true, Ordering::Relaxed);
        forwarder.join().expect("it forwards to its end");
        (0..2).for_each(|node| std::fs::remove_file(socket_of(directory, node)).expect("it is ours"));
        rate
    }

    /// Messages posted before the adapters are advanced.
    const POSTED: u64 = 32;

    /// The measured part: messages are posted, moved and reaped.
    #[inline(never)]
    fn exchange(
        adapters: &mut Stepped,
        (sender, message): (&mut Vi, &[Segment]),
        (receiver, room): (&mut Vi, &[Segment]),
    ) {
        (0..POSTED).for_each(|_| sender.post_send(&Descriptor::send(message)).expect("there is room"));
        adapters.step();
        while sender.poll_send().is_some() {}
        while receiver.poll_receive().is_some() {
            receiver.post_receive(&Descriptor::receive(room)).expect("one has just gone");
        }
    }

    /// Sends `count` messages through adapters that this thread advances.
    #[allow(clippy::disallowed_methods, reason = "a program measures its own time")]
    fn step_by_step(directory: &Path, count: u64) {
        let mut adapters = Stepped::open(two_at_once(), directory).expect("the directory is ours");
        let sockets = [0, 1].map(|node| adapters.socket(node));
        let programs = std::thread::spawn(move || {
            let [(_nic, memory, mut vi), there] = sockets.map(|socket| opened(&socket));
            std::thread::scope(|scope| {
                let (nic, _, other) = &there;
                scope.spawn(|| {
                    let arrived = nic.wait_connection(1, None).expect("the other side calls");
                    nic.accept(arrived, other).expect("this side is idle");
                });
                vi.connect(Address { host: 1, discriminator: 1 }, None).expect("the other side accepts");
            });
            ((_nic, memory, vi), there)
        });
        while !programs.is_finished() {
            adapters.step();
            std::thread::sleep(Duration::from_millis(1));
        }
        let ((nic, memory, mut vi), (other_nic, other_memory, mut other)) =
            programs.join().expect("they connect");
        let message = [memory.segment(0..SIZE)];
        let room = [other_memory.segment(2048..2048 + SIZE)];
        let began = Instant::now();
        (0..count / POSTED).for_each(|_| exchange(&mut adapters, (&mut vi, &message), (&mut other, &room)));
        let each = began.elapsed().as_secs_f64() / count as f64;
        adapters.step();
        let (tally, _) = adapters.account();
        assert_eq!((tally.received, tally.lost), (count / POSTED * POSTED, 0));
        println!("{:.0} ns a message, programs included, of {}", each * 1e9, tally.received);
        let leaving = std::thread::spawn(move || drop((vi, other, nic, other_nic)));
        while !leaving.is_finished() {
            adapters.step();
            std::thread::sleep(Duration::from_millis(1));
        }
        adapters.stop().expect("it goes on to its end");
    }

    /// Argument of `--steps`.
    fn steps() -> Option<u64> {
        let mut arguments = std::env::args().skip_while(|argument| argument != "--steps");
        arguments.nth(1)?.parse().ok()
    }

    pub(crate) fn main() {
        if let Some(count) = steps() {
            let directory = std::env::temp_dir().join(format!("laxity-vi-steps-{}", std::process::id()));
            std::fs::create_dir_all(&directory).expect("a directory can be made");
            step_by_step(&directory, count);
            return std::fs::remove_dir_all(&directory).expect("it is ours");
        }
        let cores = cores();
        let [first, .., last] = cores[..] else {
            println!("skipped: END takes a processor, and there is {cores:?}");
            return;
        };
        if let (Ok(role), Some(socket)) = (std::env::var(ROLE), std::env::var_os(SOCKET)) {
            let _refused = place(at(first));
            match role.as_str() {
                "sends" => sends(Path::new(&socket)),
                _ => receives(Path::new(&socket)),
            }
            return;
        }
        let directory: PathBuf = std::env::temp_dir().join(format!("laxity-vi-bench-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory can be made");
        let turns: &mut [&mut dyn FnMut() -> f64] =
            &mut [&mut || by_forwarder(&directory, last), &mut || by_end(&directory, last)];
        let results = interleaved(rounds(), turns);
        let [forwarder, end] = [0, 1].map(|who| median(&results[who], |rate| rate / 1e6));
        println!(
            "million messages of {SIZE} B a second from a process to another; medians of {} rounds",
            rounds()
        );
        println!("bare forwarder {forwarder:.3}, END {end:.3}: {:.2} of it (aim 0.4)", end / forwarder);
        std::fs::remove_dir_all(&directory).expect("it is ours");
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    contest::main();
}
