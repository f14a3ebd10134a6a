//! Hosts with fixed priorities on the CPU and deadlines on the link: no delay exceeds a bound of
//! [`LevelledHost`], for any deadlines at the link.

use laxity_admission::LevelledHost;

use super::*;

/// Admits what can be admitted, and runs it.
fn outcome(case: &Case) -> Option<Vec<Outcome>> {
    let environment = Environment { levels: Some(31), ..case.environment(Formula::Corrected) };
    let mut table = LevelledHost::new(environment).ok()?;
    let mut ids = Vec::new();
    for i in 0..case.channels.len() {
        if let Decision::Admitted { id, .. } = table.request(case.request(i)) {
            ids.push((id, i));
        }
    }
    let bounds = table.bounds();
    let of = |(id, i): &(AdmissionId, usize)| {
        let own = bounds.iter().find(|bound| bound.id == *id).expect("it was admitted");
        Admitted { request: case.request(*i), bound: own.bound, priority: own.priority }
    };
    let admitted: Vec<Admitted> = ids.iter().map(of).collect();
    let computing: Vec<_> = case.left().map(|application| (*application, None)).collect();
    let mut config = case.config();
    config.order = Order::FixedPriority;
    let one = CorePlace { core: CoreId::FIRST, link: LinkId::FIRST };
    let on = vec![one; admitted.len() + case.best_effort.len()];
    let links = [(case.link, CoreId::FIRST)];
    run_admitted(case, (case.host(), config, &links), (&admitted, &computing), &on)
}

/// The same as the proof has it: O1 or O2.
fn levelled(case: Case) -> Case {
    let schedule = match case.schedule {
        Schedule::EdfByDeadline => Schedule::EdfByDeadline,
        _ => Schedule::EdfByBound,
    };
    let model = if case.model == ResourceModel::O2 { ResourceModel::O2 } else { ResourceModel::O1 };
    Case { model, schedule, ..case }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, max_shrink_iters: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_with_levels_before_deadlines_exceeds_a_bound(case in case()) {
        let outcome = outcome(&levelled(case)).unwrap_or_default();
        let late = outcome.iter().find(|outcome| outcome.worst > outcome.promised);
        prop_assert!(late.is_none(), "{late:?}");
    }
}

/// Of several hundred sets many have members, and some delay is close to its bound.
#[test]
fn the_bounds_of_levels_before_deadlines_are_of_use() {
    let (mut admitted, mut closest) = (0, 0);
    for case in drawn(400) {
        // A deadline that is kept says little of the bound.
        let case = Case { schedule: Schedule::EdfByBound, ..levelled(case) };
        let outcome = outcome(&case).unwrap_or_default();
        admitted += outcome.len();
        closest = outcome.iter().map(|o| percent(o.worst, o.promised)).max().unwrap_or(0).max(closest);
    }
    println!("{admitted} admitted; closest to its bound {closest} %");
    assert!(admitted > 400 && closest > 60, "{admitted} admitted; closest to its bound {closest} %");
}
