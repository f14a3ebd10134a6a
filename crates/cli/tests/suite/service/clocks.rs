//! Delays that only the clocks of both ends of a link show.

use super::*;

/// Each packet stays in a hop for 12 ms, where propagation is stated as 10 us. Ages of packets do not have
/// this time, and with clocks they have most of it: the messages are later than 10 ms.
#[test]
fn clocks_show_what_a_link_hides() {
    let net = Net::lossy(240, &["a", "b"]);
    let texts = ["a", "b"].map(|node| (node, net.text(node)));
    let measured = |film: &str| {
        let (client, receiver) = (net.client("a"), net.client("b"));
        let mut listener = receiver.listen(film).unwrap();
        net.know("a", film);
        let contract = Contract::periodic(100, 40 * MS, 10 * MS);
        let mut opened = None;
        until("the channel is there", || {
            opened = client.open(film, contract).ok();
            opened.is_some()
        });
        let mut channel = opened.unwrap();
        net.hop("a").delay(12);
        // Clocks are compared ten times a second.
        std::thread::park_timeout(500 * MS);
        for number in 0..20 {
            channel.send(&text(number, 100)).unwrap();
        }
        let delays: Vec<Duration> =
            (0..20).map(|_| listener.recv_timeout(LONG).unwrap().unwrap().delay).collect();
        net.hop("a").delay(0);
        let status = receiver.status().unwrap();
        let late = status.rows.iter().map(|row| row.missed).sum::<u64>();
        (delays.into_iter().min().unwrap(), late, status.counter("link_1_hidden_us"))
    };
    let (least, _, hidden) = measured("blind");
    assert!(least < 10 * MS && hidden == 0, "{least:?} {hidden}");
    for (node, text) in &texts {
        net.stop(node);
        net.set_text(node, &format!("clocks = \"links\"\n{text}"));
        net.start(node);
    }
    let (least, late, hidden) = measured("seen");
    assert!(least > 8 * MS, "{least:?}: the error of clocks on one host is below 4 ms");
    assert!(late > 0 && hidden > 8000, "{late} late, {hidden} us");
}
