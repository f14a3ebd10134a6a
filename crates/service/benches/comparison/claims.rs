//! The promises of the service, each tried on three nodes in a row, as rows of a table.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use laxity_client::{Channel, Client, Contract, Error};
use laxity_machine::namespace::RunOwner;

use crate::daemons::{Daemons, LEASE, within};
use crate::line::Hosts;
use crate::promises::{Kept, keep};
use crate::streams::STREAM;

/// Records of names hold so long without their node, in seconds.
const NAMES: u64 = 4;

/// A program that opens a channel and keeps it, until it is killed.
pub(crate) fn hold(socket: &Path, name: &str) -> Result<(), String> {
    let client = Client::connect_to(socket).map_err(|why| why.to_string())?;
    let _channel = client.open(name, STREAM.contract()).map_err(|why| why.to_string())?;
    std::thread::sleep(Duration::from_secs(60));
    Ok(())
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    /// The line of the thesis.
    pub(crate) line: &'static str,
    pub(crate) says: &'static str,
    pub(crate) verdict: &'static str,
    pub(crate) figures: String,
}

/// Rows of the table.
type Rows = Vec<Row>;

fn row(
    rows: &mut Rows,
    (id, line): (&'static str, &'static str),
    says: &'static str,
    verdict: &'static str,
    figures: String,
) {
    rows.push(Row { id, line, says, verdict, figures });
}

const FAILS: &str = "**contradicted**";

fn word(holds: bool) -> &'static str {
    if holds { "holds" } else { FAILS }
}

/// Tries all of them: a row for each.
pub(crate) fn judge(owner: &RunOwner, seconds: u64) -> Result<Vec<Row>, String> {
    eprintln!("claims");
    let hosts = Hosts::new(owner, 3)?;
    let mut daemons = Daemons::start(&hosts)?;
    let found = found(&daemons)?;
    let mut rows = Rows::new();
    refused(&mut rows, &daemons)?;
    clocks(&mut rows, &daemons)?;
    let closed = until_free(&daemons, &[0, 1, 2])?;
    let kept = keep(&hosts, &daemons, seconds)?;
    until_free(&daemons, &[0, 1, 2])?;
    let (program, relay, gone) = killed(&mut daemons)?;
    let lease = Duration::from_secs(LEASE);
    row(
        &mut rows,
        ("N2", "T618"),
        "After teardown, and after the lease of a program or node that died, all is free",
        word(relay <= lease + lease && program <= lease),
        format!(
            "free at all nodes {closed:.0?} after the last close, {program:.0?} after a program was killed, \
             {relay:.0?} after the relay was killed; the lease is {lease:?}"
        ),
    );
    promises(&mut rows, &kept, seconds);
    row(
        &mut rows,
        ("N6", "T542"),
        "A name is found from every node, and ends with the lease of its node",
        word(found <= Duration::from_secs(1) && gone <= Duration::from_secs(NAMES + 1)),
        format!(
            "found two hops away after {found:.0?}; gone {gone:.0?} after the relay was killed, lease {NAMES} s"
        ),
    );
    rows.sort_unstable_by_key(|row| row.id);
    Ok(rows)
}

/// How long a name takes to the other end.
fn found(daemons: &Daemons) -> Result<Duration, String> {
    let (there, here) = (daemons.client(2)?, daemons.client(0)?);
    let _listener = there.listen("new").map_err(|why| why.to_string())?;
    within("a name is found", || here.resolve("new").is_ok())
}

/// Reserved parts of links, in millionths, at all nodes.
fn shares(daemons: &Daemons) -> Result<Vec<u32>, String> {
    let mut shares = Vec::new();
    for host in 0..3 {
        shares.extend(daemons.status(host)?.links.iter().map(|link| link.2));
    }
    Ok(shares)
}

/// Opens channels of a tenth of the line until one is refused.
fn refused(rows: &mut Rows, daemons: &Daemons) -> Result<(), String> {
    let (sender, receiver) = (daemons.client(0)?, daemons.client(2)?);
    let _listener = receiver.listen("film").map_err(|why| why.to_string())?;
    daemons.know(0, "film")?;
    let contract = Contract::periodic(4500, Duration::from_millis(10), Duration::from_millis(60));
    let mut channels: Vec<Channel> = Vec::new();
    let (refusal, before) = loop {
        let before = shares(daemons)?;
        match sender.open("film", contract) {
            Ok(channel) => channels.push(channel),
            Err(Error::Refused(refusal)) => break (refusal, before),
            Err(other) => return Err(other.to_string()),
        }
    };
    let mut after = shares(daemons)?;
    // The nodes before the one that refuses release what they held when they get its answer.
    let _ = within("released", || {
        after = shares(daemons).unwrap_or_default();
        after == before
    });
    let mut local = 0;
    for host in 0..3 {
        let rows = daemons.status(host)?.rows;
        let of = channels.first().and_then(|of| rows.into_iter().find(|row| row.channel == of.name()));
        local += of.map_or(0, |row| row.local_ns);
    }
    let local = Duration::from_nanos(local);
    row(
        rows,
        ("N1", "T607"),
        "A channel is admitted at each hop with what is left of its deadline, or refused by the node that \
         cannot, and then nothing stays reserved",
        word(after == before && local <= contract.deadline() && !channels.is_empty()),
        format!(
            "{} channels admitted, local deadlines together {local:.1?} of {:?}; then {refusal}; reserved before \
             and after {before:?} and {after:?} millionths",
            channels.len(),
            contract.deadline()
        ),
    );
    Ok(())
}

/// Compares what nodes say of the clocks of their neighbours with what the clocks are: all nodes have
/// the monotonic clock of this machine, each from its own start on.
fn clocks(rows: &mut Rows, daemons: &Daemons) -> Result<(), String> {
    let (mut worst, mut stated, mut within, mut count) = (0, 0, true, 0);
    for _ in 0..50 {
        let mut states = Vec::new();
        for host in 0..3 {
            states.push(daemons.status(host)?);
        }
        for state in &states {
            for (peer, offset, error) in &state.clocks {
                let Some(other) = states.iter().find(|other| other.name == *peer) else { continue };
                let off = (state.began_ns as i64 - other.began_ns as i64).abs_diff(*offset);
                let error = error.unwrap_or(u64::MAX);
                (worst, stated, within) = (off.max(worst), error.max(stated), within && off <= error);
                count += 1;
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let [worst, stated] = [worst, stated].map(Duration::from_nanos);
    row(
        rows,
        ("N5", "T564"),
        "Clocks of neighbours agree within the error that their synchronisation states; no bound of a channel \
         depends on it, since packets carry the time that is left",
        word(within && count > 100),
        format!(
            "{count} readings by neighbours: off by {worst:.0?} at most, stated errors up to {stated:.0?}"
        ),
    );
    Ok(())
}

/// How long the nodes hold something.
fn until_free(daemons: &Daemons, hosts: &[usize]) -> Result<Duration, String> {
    let free = |host: &usize| {
        let status = daemons.status(*host);
        status.is_ok_and(|status| status.channels == 0 && status.links.iter().all(|link| link.2 == 0))
    };
    within("nothing is reserved", || hosts.iter().all(free))
}

/// How long the channel of a killed program is held, then that over a killed relay, and how long the
/// name behind it is known.
fn killed(daemons: &mut Daemons) -> Result<(Duration, Duration, Duration), String> {
    let receiver = daemons.client(2)?;
    let _listener = receiver.listen("film").map_err(|why| why.to_string())?;
    daemons.know(0, "film")?;
    let program = std::env::current_exe().map_err(|why| why.to_string())?;
    let mut command = Command::new(program);
    command.arg("hold").arg(daemons.socket(0)).arg("film").stdin(Stdio::null());
    let mut child = command.spawn().map_err(|why| why.to_string())?;
    let held = |daemons: &Daemons| daemons.status(2).is_ok_and(|status| status.channels == 1);
    let begun = within("the program has a channel", || held(daemons));
    let _ = child.kill();
    let _ = child.wait();
    begun?;
    let program = until_free(daemons, &[0, 1, 2])?;
    let here = daemons.client(0)?;
    let _channel = here.open("film", STREAM.contract()).map_err(|why| why.to_string())?;
    daemons.kill(1);
    let relay = until_free(daemons, &[0, 2])?;
    let gone = within("the name is gone", || here.resolve("film").is_err())?;
    Ok((program, relay, relay + gone))
}

/// The rows of the run beside floods.
fn promises(rows: &mut Rows, kept: &Kept, seconds: u64) {
    let sum = |of: fn(&crate::streams::Delays) -> u64| kept.streams.iter().map(of).sum::<u64>();
    let (sent, lost, missed) = (sum(|d| d.sent), sum(|d| d.lost()), sum(|d| d.missed));
    let worst = kept.streams.iter().map(|delays| delays.worst).max().unwrap_or(0);
    let (worst, bound) = (Duration::from_nanos(worst), STREAM.deadline);
    let verdict = match (kept.unexplained, lost + missed) {
        (0, 0) => "holds",
        (0, _) => "holds but for stops of the platform",
        _ => FAILS,
    };
    row(
        rows,
        ("N3", "T589"),
        "An admitted channel misses no deadline beside floods and violators, but for stops that are shown",
        verdict,
        format!(
            "{sent} messages over two hops beside marked floods of 120 Mbit/s: {missed} late, {lost} lost; worst \
             {worst:.2?} of {bound:?}; the longest stop {:.2?}, {} late packets that no stop covers",
            kept.longest, kept.unexplained
        ),
    );
    let (within, beyond) = kept.violator;
    row(
        rows,
        ("N4", "T632"),
        "The excess of a violator is dropped, and no worst case of others changes",
        word(kept.unexplained == 0 && beyond > within),
        format!("{beyond} messages refused, {within} accepted; the others as under N3"),
    );
    row(
        rows,
        ("N7", "T622"),
        "Messages arrive in order, whole or not at all",
        word(sum(|d| d.overtaken) + sum(|d| d.torn) == 0),
        format!("{} of {sent}: {} out of order, {} torn", sent - lost, sum(|d| d.overtaken), sum(|d| d.torn)),
    );
    row(
        rows,
        ("N8", "T595"),
        "Channels come and go ten times a second, and the admitted ones stay below their bounds",
        verdict,
        format!(
            "{:.1} channels a second for {seconds} s; the others as under N3",
            kept.came as f64 / seconds as f64
        ),
    );
}
