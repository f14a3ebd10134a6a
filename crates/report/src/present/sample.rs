//! A synthetic outcome with every case that is hard to present.

use std::collections::BTreeMap;

use laxity_world::results::{
    Axis, AxisPoint, Channel, Origin, Provenance, ResourceResults, Results, Ruling, Run, Summary, Verdict,
};

const KIB: f64 = 1024.0;

/// Three real-time channels and one of best effort over eight loads.
pub(super) fn sweep() -> Results {
    let loads: Vec<f64> = (1..=8).map(|i| f64::from(i) * 600.0).collect();
    Results {
        provenance: Provenance {
            name: "s5-conforming".into(),
            title: "Conforming channels keep their guarantees at any best-effort load".into(),
            about: "Channels 0 to 2 send within their specification while channel 3 offers ever more \
                    best-effort traffic, to far past the capacity of the host."
                .into(),
            seed: 1,
            file_hash: "deadbeef".repeat(8),
            version: "0.1.0".into(),
            clock: "virtual".into(),
            percentile_error: 0.0,
        },
        axes: vec![Axis {
            name: "load".into(),
            label: "offered best-effort load (KiB/s)".into(),
            points: loads.iter().map(|l| AxisPoint { text: format!("{l} KiB/s"), value: Some(*l) }).collect(),
        }],
        runs: loads.iter().enumerate().map(|(i, load)| run(vec![i], *load)).collect(),
    }
}

/// The same at one load.
pub(super) fn single() -> Results {
    Results { axes: vec![], runs: vec![run(vec![], 2400.0)], ..sweep() }
}

/// Loads, packets per preemption and schemes: more axes than one figure has.
pub(super) fn grid() -> Results {
    let mut results = sweep();
    let names = |texts: &[&str], numeric: bool| -> Vec<AxisPoint> {
        let value = |text: &&str| if numeric { text.parse().ok() } else { None };
        texts.iter().map(|t| AxisPoint { text: (*t).into(), value: value(t) }).collect()
    };
    let (depths, schemes) = (names(&["1", "2", "4"], true), names(&["O1", "O2"], false));
    let loads = std::mem::take(&mut results.runs);
    for (i, run) in loads.iter().enumerate() {
        for depth in 0..depths.len() {
            for scheme in 0..schemes.len() {
                let mut run = run.clone();
                run.point = vec![i, depth, scheme];
                let gain = 1.0 + depth as f64 * 0.1 - scheme as f64 * 0.05;
                run.channels.iter_mut().for_each(|c| c.throughput *= gain);
                let admitted = (3.0 + i as f64 * gain).floor();
                run.figures.insert("admitted".into(), admitted);
                results.runs.push(run);
            }
        }
    }
    results.axes.push(Axis { name: "P".into(), label: "packets per preemption".into(), points: depths });
    results.axes.push(Axis { name: "scheme".into(), label: "scheme".into(), points: schemes });
    results
}

/// A value not measured in one place, not a number in the other.
pub(super) fn gaps() -> Results {
    let mut results = sweep();
    results.runs[1].channels.clear();
    results.runs[2].channels[0].laxity = None;
    results.runs[3].channels[1].worst = Some(f64::NAN);
    results.runs[4].channels[3].throughput = f64::INFINITY;
    results.runs[5].channels[2].laxity = Some(Summary::default());
    results.runs[6].figures.insert("odd".into(), f64::NAN);
    results.runs[7].point.clear();
    results
}

/// Names that would like to be markup.
pub(super) fn hostile() -> Results {
    let mut results = sweep();
    let bad = "<script>alert(1)</script><b onload=\"x\">&'\u{1b}[2J\u{202e}";
    results.provenance.title = bad.into();
    results.provenance.about = bad.into();
    results.axes[0].label = bad.into();
    results.axes[0].points[0].text = bad.into();
    for run in &mut results.runs {
        run.channels[0].name = bad.into();
        run.channels[0].drops.insert(bad.into(), 1);
        run.resources[0].name = bad.into();
        run.figures.insert(bad.into(), 1.0);
    }
    results
}

/// Claims of names that would like to be markup.
pub(super) fn hostile_verdicts() -> Vec<Verdict> {
    let bad = "<script>alert(1)</script>";
    let mut verdict = verdicts().remove(1);
    (verdict.id, verdict.says, verdict.figure, verdict.reason) =
        (bad.into(), bad.into(), bad.into(), bad.into());
    vec![verdict]
}

/// One claim that holds and one that does not.
pub(super) fn verdicts() -> Vec<Verdict> {
    vec![
        Verdict {
            id: "S5a".into(),
            says:
                "Every real-time channel gets exactly its reserved rate; best-effort throughput rises with \
                   the load, then saturates and declines slightly; no real-time packet is dropped."
                    .into(),
            origin: Origin::Source,
            from: String::new(),
            same_as: None,
            at: None,
            ruling: Ruling::Holds,
            figure: "least rt throughput 1200.0 of 1200 KiB/s; best effort peaks at 1890 KiB/s; 0 drops"
                .into(),
            reason: String::new(),
            draws: None,
            spoilt: false,
        },
        Verdict {
            id: "S5b".into(),
            says: "Minimum laxity of every real-time channel is at least zero at every load.".into(),
            origin: Origin::Source,
            from: String::new(),
            same_as: None,
            at: None,
            ruling: Ruling::Contradicted,
            figure: "least laxity -0.21 ms (rt1 at 4800 KiB/s)".into(),
            reason: "The bound in force leaves out the interrupt that the sample adds at the highest load."
                .into(),
            draws: None,
            spoilt: false,
        },
    ]
}

fn run(point: Vec<usize>, load: f64) -> Run {
    let pressure = load / 4800.0;
    let carried = if load < 1900.0 { load } else { 1890.0 - (load - 1900.0) * 0.03 };
    let busy = (0.62 + 0.38 * (load / 1900.0)).min(1.0);
    let used = [0.62, 0.71, 0.80].map(|base| base + 0.12 * pressure.min(1.0).powi(2));
    let mut channels = vec![
        real_time("rt0", 1200.0, 0.040, 0.0365, used[0], Some(0.0392)),
        real_time("rt1", 2000.0, 0.025, 0.0241, if load > 4700.0 { 1.0458 } else { used[1] }, None),
        real_time("rt2", 2000.0, 0.030, 0.0287, used[2], None),
    ];
    if load > 4700.0 {
        (channels[1].missed_packets, channels[1].missed_messages) = (15, 1);
    }
    let dropped = ((load - carried) * 16.0).max(0.0) as u64 / 15;
    channels.push(Channel {
        name: "be".into(),
        class: "best_effort".into(),
        worst: Some(0.02 + 0.4 * pressure),
        offered: load * KIB,
        throughput: carried * KIB,
        messages: (load * 1.1) as u64,
        completed: (carried * 1.1) as u64,
        packets: (carried * 16.5) as u64,
        drops: BTreeMap::from([("message_queue".to_string(), dropped)]),
        dropped_packets: dropped * 15,
        latency: Some(summary(0.012, 0.02 + 0.2 * pressure, 0.02 + 0.4 * pressure)),
        ..Channel::default()
    });
    Run {
        point,
        simulated: 64.0,
        window: 60.0,
        channels,
        resources: vec![
            ResourceResults {
                name: "cpu".into(),
                utilisation: busy,
                uses: BTreeMap::from([("protocol".into(), busy * 0.8), ("switch".into(), busy * 0.2)]),
                longest_queue: Some(12),
            },
            ResourceResults { name: "link".into(), utilisation: busy * 0.74, ..ResourceResults::default() },
        ],
        figures: BTreeMap::new(),
        ..Run::default()
    }
}

fn real_time(name: &str, kib: f64, deadline: f64, bound: f64, used: f64, papers: Option<f64>) -> Channel {
    let worst = bound * used;
    let summary = summary(worst * 0.3, worst * 0.55, worst);
    Channel {
        name: name.into(),
        class: "real_time".into(),
        reserved: Some(kib * KIB),
        deadline: Some(deadline),
        bound: Some(bound),
        bound_papers: papers,
        worst: Some(worst),
        offered: kib * KIB,
        throughput: kib * KIB,
        messages: 1280,
        completed: 1280,
        packets: 19_200,
        laxity: Some(Summary {
            min: deadline - summary.max,
            mean: deadline - summary.mean,
            max: deadline - summary.min,
            p1: deadline - summary.p99,
            p50: deadline - summary.p50,
            p99: deadline - summary.p1,
            p999: None,
            ..summary.clone()
        }),
        latency: Some(summary.clone()),
        sojourn: Some(summary),
        ..Channel::default()
    }
}

fn summary(min: f64, mean: f64, max: f64) -> Summary {
    Summary {
        count: 1200,
        min,
        mean,
        deviation: (max - min) / 6.0,
        p1: min * 1.05,
        p50: mean * 0.97,
        p99: max * 0.96,
        p999: Some(max * 0.99),
        p9999: None,
        max,
        curve: Vec::new(),
    }
}
