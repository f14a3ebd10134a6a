//! An adapter that is fed no faster than it is done: by hand, and in all the ways of a small grid.

use super::*;

fn once(open: &Open) -> u64 {
    open.once().iter().map(|term| term.cost.as_ps()).sum::<u64>() / 1_000_000
}

fn open(services: &[u64]) -> Open {
    let stages = services.iter().map(|service| stage(vec![phase(*service, 0)])).collect();
    Open::new(station(stages), KILO).unwrap()
}

/// 10 and 30: what a server each may have had, and the shorter once more, is 50, and the last
/// packet is 30 of the slowest. Each packet is free then. If packets pass each other, a host that
/// makes one each 40 leaves 10 of 40 to catch up with 80: 320.
#[test]
fn a_fed_adapter_is_a_delay() {
    let fed = |spacing, passing| {
        let fed = open(&[10, 30]).fed(us(spacing), passing)?;
        assert_eq!(fed.charge(KILO), 0);
        Some(once(&fed))
    };
    assert_eq!([fed(29, false), fed(30, false), fed(900, false)], [None, Some(80), Some(80)]);
    assert_eq!([fed(30, true), fed(40, true)], [None, Some(320)]);
    // One that is looked at now and then has several at a look, which pass before its first stage.
    let stages = vec![stage(vec![phase(10, 0)]), stage(vec![phase(30, 0)])];
    let looks = Open::new(Station { looks: us(20), ..station(stages) }, KILO).unwrap();
    assert_eq!(looks.clone().fed(us(30), false), None);
    assert_eq!(looks.fed(us(40), false).as_ref().map(once), Some(400));
}

/// A link of its own with 10 us and 20 ns a byte, frames filled up to 100 B.
#[test]
fn a_link_is_a_stage_that_fills_up() {
    let costs = LinkCosts { shortest: Bytes::new(100), ..LinkCosts::new(us(10), Span::from_ns(20)) };
    let open = Open::new(Station::of_link(costs), KILO).unwrap();
    for size in [1, 99, 100, 101, 1000] {
        let size = Bytes::new(size);
        assert_eq!(
            (open.charge(size), open.apart(size)),
            (ps(costs.transmit(size)), ps(costs.transmit(size)))
        );
    }
}

/// Five packets 3 or 4 apart, each of 1 to 3 in each of two stages; in the second the newest goes
/// first, or the oldest. None is in longer than the bound, and in order some take half of it.
#[test]
fn nobody_is_in_a_fed_adapter_for_longer() {
    const PACKETS: u32 = 5;
    let bound = |passing| once(&open(&[3, 3]).fed(us(if passing { 4 } else { 3 }), passing).unwrap());
    let mut closest = [0.0f64; 2];
    for code in 0..(2u64 * 9).pow(PACKETS) {
        let (mut rest, mut now) = (code, 0);
        let mut packets = Vec::new();
        for _ in 0..PACKETS {
            packets.push((now, 1 + rest / 2 % 3, 1 + rest / 6 % 3));
            now += 3 + rest % 2;
            rest /= 18;
        }
        for passing in [false, true] {
            if passing && packets.windows(2).any(|two| two[1].0 - two[0].0 < 4) {
                continue;
            }
            let longest = longest(&packets, passing);
            closest[usize::from(passing)] =
                closest[usize::from(passing)].max(longest as f64 / bound(passing) as f64);
        }
    }
    assert!(closest[0] <= 1.0 && closest[1] <= 1.0 && closest[0] >= 0.5, "{closest:?}");
}

/// The longest that one of `packets`, each when it is handed over and what it takes of two stages,
/// is in both.
fn longest(packets: &[(u64, u64, u64)], newest_first: bool) -> u64 {
    let (mut free, mut waiting, mut longest) = (0, Vec::new(), 0);
    for &(handed, first, second) in packets {
        free = handed.max(free) + first;
        waiting.push((free, handed, second));
    }
    let mut now = 0;
    while !waiting.is_empty() {
        now = now.max(waiting[0].0);
        let there = waiting.iter().take_while(|(came, _, _)| *came <= now).count();
        let (_, handed, second) = waiting.remove(if newest_first { there - 1 } else { 0 });
        now += second;
        longest = longest.max(now - handed);
    }
    longest
}
