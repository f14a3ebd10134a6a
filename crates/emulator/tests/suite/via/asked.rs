//! For any words and files at the control socket, END responds or hangs up, and serves the next
//! program.

use super::raw::Raw;
use super::support::{Site, adapter, sparse};
use laxity_model::via::Firmware;
use laxity_vi::provider::{Answer, ControlRequest, Memory, Socket};
use laxity_vi::{Access, Nic, ViAttributes};

/// Number of random requests.
const REQUESTS: usize = 6000;

/// Reproducible pseudo-random numbers (xorshift, Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn of(&mut self, from: &[u64]) -> u64 {
        from[(self.next() % from.len() as u64) as usize]
    }
}

#[test]
fn no_request_ends_the_adapters() {
    let site = Site::new("via::asked::no_request_ends_the_adapters", adapter(Firmware::QualityOfService));
    let (_memory, small) = Memory::create("asked", 4096).unwrap();
    let files = [small, sparse(1 << 30), std::fs::File::open("/dev/null").unwrap().into()];
    let mut chance = Chance(41);
    let open = |place: usize| Raw::open(&site.socket(place % 2));
    let mut programs: Vec<Raw> = (0..4).map(open).collect();
    // Some requests name valid values, or the first check would refuse all.
    let mut known: Vec<u64> = vec![0, 1, 2, 3, 63, 64, 255, 256, 4096, 1 << 20, 1 << 30, 1 << 40];
    known.extend([u64::from(u32::MAX), 1 << 32, i64::MAX as u64, u64::MAX]);
    let (mut made, mut refused, mut done) = (0, 0, 0);
    for _ in 0..REQUESTS {
        let place = (chance.next() % 4) as usize;
        let mut words = [0; 16];
        words[0] = chance.next() % 22;
        for word in &mut words[1..] {
            *word = if chance.next().is_multiple_of(5) { chance.next() } else { chance.of(&known) };
            // Most fields are small numbers.
            if chance.next().is_multiple_of(2) {
                *word = chance.next() % 4;
            }
        }
        let file = (words[0] == 4 || chance.next().is_multiple_of(9))
            .then(|| &files[(chance.next() % files.len() as u64) as usize]);
        match programs[place].say(&words, file) {
            Some(Answer::Made(number)) => {
                made += 1;
                known.push(number.into());
            }
            Some(Answer::Refused(_)) => refused += 1,
            Some(_) => done += 1,
            None => panic!("{words:?} ends the connection"),
        }
        programs[place]
            .ring((chance.next() % 4) | ((chance.next() % 300) << 32) | ((chance.next() % 3) << 48));
        if chance.next().is_multiple_of(200) {
            programs[place] = open(place);
        }
    }
    assert!(made > 50 && refused > 50 && done > 50, "{made} made, {refused} refused, {done} done");
    // Before the adapter is opened, and of another length.
    let stranger = Socket::connect(&site.socket(0)).unwrap();
    for request in [ControlRequest::CreateTag, ControlRequest::Deregister(1)] {
        stranger.send(&request.to_words(), files.first()).unwrap();
        let answer = stranger.receive().unwrap().unwrap();
        assert!(matches!(Answer::of(&answer.words), Some(Answer::Refused(_))) && answer.file.is_none());
    }
    drop((programs, stranger));
    let nic = Nic::open(site.socket(0)).unwrap();
    let tag = nic.create_tag().unwrap();
    nic.register(4096, tag, Access::default()).unwrap();
    nic.create_vi(&ViAttributes::new(tag)).unwrap();
    drop(nic);
    // END's thread is still running, and its log replays the run.
    site.end();
}
