//! Each policy's decisions, by hand.

use laxity_units::{Span, Time};

use super::*;
use crate::discipline::Class;

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

fn us(n: u64) -> Time {
    Time::ZERO + Span::from_us(n)
}

fn load(waiting: u32, free: u32) -> Load {
    Load { waiting, free, buffers: 128, promised: 0, backlog: 0, taken: 0, received: 0 }
}

fn posted(waiting: u32, oldest: Time) -> Posted {
    Posted { waiting, oldest, backlog: 0 }
}

fn batch(taken: u32, used: Span) -> Batch {
    Batch { began: Time::ZERO, taken, received: taken, used }
}

#[test]
fn a_routine_interrupts_while_anything_waits_and_a_kernel_once_for_each() {
    let mut routine = PerCommand::ROUTINE;
    routine.posted(us(1));
    routine.entered(us(2));
    assert_eq!(routine.interrupt_at(&posted(1, us(1))), Some(us(1)));
    assert_eq!(routine.quota(), 1);
    let mut kernel = PerCommand::KERNEL;
    kernel.posted(us(1));
    kernel.posted(us(3));
    kernel.entered(us(3));
    assert_eq!(kernel.interrupt_at(&posted(2, us(1))), Some(us(1)), "one is owed");
    kernel.entered(us(4));
    assert_eq!(kernel.interrupt_at(&posted(2, us(1))), None, "all are said");
}

#[test]
fn explicit_interrupts_wait_for_the_interval_or_for_an_idle_host() {
    let mut policy = Explicit::new(4, Span::from_ms(2));
    assert_eq!(policy.interrupt_at(&posted(1, ms(1))), Some(ms(1)));
    policy.left(ms(1), &batch(4, Span::from_us(800)), &load(3, 100));
    assert_eq!(policy.interrupt_at(&posted(3, ms(1))), Some(ms(3)));
    policy.idle(ms(2));
    assert_eq!(policy.interrupt_at(&posted(3, ms(1))), Some(ms(2)));
    policy.idle(ms(5));
    assert_eq!(policy.interrupt_at(&posted(3, ms(1))), Some(ms(2)), "what is enabled stays so");
}

#[test]
fn a_limit_is_counted_from_the_last_interrupt() {
    let mut policy = Limited::new(8, Span::from_ms(1));
    assert_eq!(policy.interrupt_at(&posted(1, us(10))), Some(us(10)));
    policy.entered(us(10));
    assert_eq!(policy.interrupt_at(&posted(1, us(20))), Some(us(1010)));
    assert_eq!(policy.interrupt_at(&posted(1, us(5000))), Some(us(5000)));
}

#[test]
fn backoff_doubles_to_its_maximum_and_is_restored_below_its_minimum() {
    let parameters = BackoffParameters {
        quota: 12,
        minimum: Span::from_ms(1),
        maximum: Span::from_ms(3),
        factor: 2.0,
        restore: 0.5,
        threshold: 0.25,
        taken: TakenBuffers::Filled,
    };
    let mut policy = Backoff::new(parameters);
    let mut told = |free: u32| {
        policy.left(ms(0), &batch(1, Span::ZERO), &load(1, free));
        policy.period()
    };
    assert_eq!(told(32), None, "a quarter is free");
    assert_eq!(told(31), Some(Span::from_ms(1)));
    assert_eq!(told(31), Some(Span::from_ms(2)));
    assert_eq!(told(31), Some(Span::from_ms(3)), "no more than the maximum");
    assert_eq!(told(64), Some(Span::from_us(1500)));
    assert_eq!(told(64), None, "750 us is below the minimum");
    assert_eq!(told(31), Some(Span::from_ms(1)));
    assert!(!policy.stays(&load(5, 31)) && policy.stays(&load(5, 32)));
}

#[test]
fn a_promised_buffer_may_count_as_taken_and_then_a_routine_goes_on() {
    let parameters = |taken| BackoffParameters {
        quota: 12,
        minimum: Span::from_ms(1),
        maximum: Span::from_ms(8),
        factor: 2.0,
        restore: 0.9,
        threshold: 0.25,
        taken,
    };
    let promised = Load { promised: 90, ..load(1, 100) };
    let after = |taken| {
        let mut policy = Backoff::new(parameters(taken));
        policy.left(ms(0), &batch(1, Span::ZERO), &promised);
        (policy.period(), policy.stays(&load(1, 0)))
    };
    assert_eq!(after(TakenBuffers::Filled), (None, false));
    assert_eq!(after(TakenBuffers::Promised), (Some(Span::from_ms(1)), true));
    assert_eq!(after(TakenBuffers::Announced), (Some(Span::from_ms(1)), false));
}

#[test]
fn a_backed_off_adapter_counts_from_its_last_interrupt() {
    let parameters = BackoffParameters {
        quota: 12,
        minimum: Span::from_ms(1),
        maximum: Span::from_ms(20),
        factor: 2.0,
        restore: 0.5,
        threshold: 0.25,
        taken: TakenBuffers::Filled,
    };
    let mut policy = Backoff::new(parameters);
    assert_eq!(policy.interrupt_at(&posted(1, ms(7))), Some(ms(7)));
    policy.entered(ms(7));
    policy.left(ms(8), &batch(1, Span::ZERO), &load(1, 0));
    assert_eq!(policy.interrupt_at(&posted(1, ms(7))), Some(ms(8)));
    policy.entered(ms(8));
    policy.left(ms(8), &batch(0, Span::ZERO), &load(1, 0));
    assert_eq!(policy.interrupt_at(&posted(1, ms(7))), Some(ms(10)));
}

#[test]
fn a_reservation_is_taken_first_and_the_rest_while_the_program_has_little_to_do() {
    let mut policy = Guaranteed::new(4, Span::from_ms(10), 2);
    let busy = |waiting, oldest| Posted { backlog: 3, ..posted(waiting, oldest) };
    policy.entered(ms(12));
    let load = |received, backlog| Load { backlog, taken: 2 * received, received, ..load(9, 100) };
    assert!(policy.stays(&load(3, 50)) && !policy.stays(&load(4, 50)) && policy.stays(&load(4, 2)));
    policy.left(ms(13), &batch(3, Span::ZERO), &load(3, 3));
    assert_eq!(policy.interrupt_at(&busy(1, ms(14))), Some(ms(14)), "one is left");
    policy.left(ms(14), &batch(1, Span::ZERO), &load(1, 3));
    assert_eq!(policy.interrupt_at(&busy(1, ms(14))), Some(ms(20)));
    assert_eq!(policy.interrupt_at(&posted(1, ms(14))), Some(ms(14)), "nobody is behind");
    policy.entered(ms(20));
    assert_eq!(policy.interrupt_at(&busy(1, ms(20))), Some(ms(20)), "a new period");
    let refusals = Load { taken: 32, ..load(0, 50) };
    assert!(!policy.stays(&refusals), "refusing has an end, too");
}

#[test]
fn coalescing_interrupts_by_count_or_by_time() {
    let mut policy = Coalescing::new(3, Span::from_us(50));
    policy.posted(us(10));
    assert_eq!(policy.interrupt_at(&posted(1, us(10))), Some(us(60)));
    policy.posted(us(20));
    policy.posted(us(30));
    assert_eq!(policy.interrupt_at(&posted(3, us(10))), Some(us(30)));
    policy.posted(us(90));
    assert_eq!(policy.interrupt_at(&posted(4, us(10))), Some(us(60)), "the time had come before");
}

#[test]
fn napi_polls_until_nothing_waits_and_then_shares() {
    let mut policy = Napi::new(64, 1);
    policy.entered(us(0));
    assert_eq!(policy.interrupt_at(&posted(1, us(0))), None);
    let used = Span::from_us(300);
    assert_eq!(policy.left(us(300), &batch(64, used), &load(9, 1)), Again::AtOnce);
    assert_eq!(policy.left(us(600), &batch(64, used), &load(9, 1)), Again::AfterShare(used));
    assert_eq!(policy.left(us(900), &batch(5, used), &load(0, 1)), Again::OnSignal);
    assert_eq!(policy.interrupt_at(&posted(1, us(950))), Some(us(950)));
}

#[test]
fn cycles_used_up_inhibit_input_until_the_next_period() {
    let mut policy = CycleLimited::new(8, Span::from_ms(10), Span::from_ms(5));
    policy.entered(ms(12));
    let used = Batch { began: ms(12), ..batch(8, Span::from_ms(3)) };
    assert_eq!(policy.left(ms(15), &used, &load(4, 1)), Again::AtOnce);
    let used = Batch { began: ms(15), ..used };
    assert_eq!(policy.left(ms(18), &used, &load(4, 1)), Again::OnSignal);
    assert_eq!(policy.interrupt_at(&posted(4, ms(13))), Some(ms(20)));
    policy.entered(ms(20));
    let used = Batch { began: ms(20), ..used };
    assert_eq!(policy.left(ms(23), &used, &load(4, 1)), Again::AtOnce, "a new period has its own cycles");
}

#[test]
fn lazy_processing_interrupts_only_who_sleeps() {
    let mut adapter = Lazy::BY_ADAPTER;
    assert_eq!(adapter.interrupt_at(&posted(1, us(1))), Some(us(1)));
    adapter.entered(us(1));
    assert_eq!(adapter.interrupt_at(&posted(1, us(2))), None);
    adapter.idle(us(9));
    assert_eq!(adapter.interrupt_at(&posted(1, us(10))), Some(us(10)));
    assert_eq!(Lazy::IN_SOFTWARE.interrupt_at(&posted(1, us(2))), Some(us(2)));
}

/// Feeds the automaton `count` decisions; `rates` gives the commands per interrupt of each profile.
fn after_decisions(count: u32, rates: impl Fn(usize) -> u32) -> Adaptive {
    let mut policy = Adaptive::default();
    let mut now = Time::ZERO;
    for _ in 0..count * EVENTS {
        // Interrupts a second fall with the holdoff time; commands a second are the profile's.
        let gap = Span::from_us(10 << policy.profile());
        now += gap;
        policy.entered(now);
        policy.left(now, &batch(rates(policy.profile()) << policy.profile(), Span::ZERO), &load(0, 1));
    }
    policy
}

#[test]
fn moderation_climbs_while_interrupts_grow_fewer_and_stays_where_it_is_best() {
    let patient = after_decisions(20, |_| 100);
    assert_eq!(patient.profile(), PROFILES.len() - 1, "equal commands, fewer interrupts");
    let prompt = after_decisions(40, |profile| 1000 >> profile);
    assert!(prompt.profile() <= 1, "patience loses commands: {}", prompt.profile());
}

#[test]
fn a_weighted_poll_serves_real_time_first_and_no_more_than_its_part() {
    use sharing::{BatchSharing, BatchTaken, Waiting};
    let take = |sharing: BatchSharing, mut waiting: Waiting, batches| {
        let mut taken = BatchTaken { batches, ..BatchTaken::default() };
        let mut order = String::new();
        while let Some(class) = sharing.next(waiting, taken).filter(|_| order.len() < 8) {
            match class {
                Class::RealTime => {
                    order.push('r');
                    waiting.real_time -= 1;
                    taken.real_time += 1;
                }
                Class::BestEffort => {
                    order.push('b');
                    waiting.best_effort -= 1;
                    taken.best_effort += 1;
                }
            }
        }
        order
    };
    let both = Waiting { real_time: 5, best_effort: 5 };
    let weighted = BatchSharing::Weighted { real_time: 3, best_effort: 1 };
    assert_eq!(take(weighted, both, 0), "rrrb");
    assert_eq!(take(weighted, Waiting { real_time: 1, ..both }, 0), "rb", "what is unused is not handed on");
    assert_eq!(take(BatchSharing::Exhaustive, both, 0), "rrrrrbbb");
    let turns = BatchSharing::Turns { real_time: 2, best_effort: 1 };
    assert_eq!([0, 1, 2, 3].map(|n| take(turns, both, n)), ["rrrrr", "rrrrr", "bbbbb", "rrrrr"]);
    assert_eq!(take(BatchSharing::Common, Waiting { real_time: 2, best_effort: 0 }, 0), "rr");
}
