//! Contracts that an administrator changes while a program sends.

use std::process::Output;

use super::*;

fn change(net: &Net, node: &str, arguments: &[&str]) -> Output {
    let mut command = net.laxity();
    command.args(["channel", "change"]).args(arguments).env("LAXITY_SOCKET", net.socket(node));
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_program_goes_on_under_the_contract_of_an_administrator() {
    let net = Net::loopback(224, &["a", "b"]);
    let (client, receiver) = (net.client("a"), net.client("b"));
    let (mut listener, mut within) = (receiver.listen("film").unwrap(), client.listen("own").unwrap());
    net.know("a", "film");
    for (name, listener) in [("film", &mut listener), ("own", &mut within)] {
        let mut channel = client.open(name, film()).unwrap();
        let id = channel.name().to_string();
        channel.send(&text(1, 1000)).unwrap();
        let changed = change(&net, "a", &[&id, "--size", "600", "--deadline", "80 ms"]);
        assert!(changed.status.success(), "{}", said(&changed));
        let ours = |event: &Event| matches!(event, Event::Changed(of) if *of == channel.name());
        let mut events = std::iter::from_fn(|| client.event(LONG));
        assert!(events.any(|event| ours(&event)));
        let contract = channel.contract();
        assert_eq!((contract.max_message, contract.deadline(), contract.interval()), (600, 80 * MS, 10 * MS));
        // The program learns which messages are too long now, and those that fit arrive in order.
        assert!(matches!(channel.send(&text(2, 1000)), Err(Error::Length)));
        channel.send(&text(2, 600)).unwrap();
        assert_eq!(collect(listener, 2), [text(1, 1000), text(2, 600)]);
        // More than the node has is refused, and the contract stays.
        let busy = || change(&net, "a", &[&id, "--size", "250000", "--interval", "100 us"]);
        let mut refused = busy();
        until("the change before is over", || {
            refused = busy();
            !said(&refused).contains("under way")
        });
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        assert!(said(&refused).contains("too little of"), "{}", said(&refused));
        assert_eq!(channel.contract(), contract);
        // The program itself may change it as before.
        channel.renegotiate(film()).unwrap();
        assert_eq!(channel.contract(), film());
        channel.send(&text(3, 1000)).unwrap();
        assert_eq!(collect(listener, 1), [text(3, 1000)]);
        channel.close().unwrap();
        let gone = change(&net, "a", &[&id, "--size", "1"]);
        assert_eq!(gone.status.code(), Some(2), "{}", said(&gone));
        assert!(said(&gone).contains("begins at a"), "{}", said(&gone));
    }
    assert_eq!(receiver.status().unwrap().counter("missed"), 0, "each message has the bound of its contract");
    for (arguments, why) in [
        (&["1.1.0"][..], "--size"),
        (&["1.1", "--size", "1"], "three numbers"),
        (&["1.1.0", "--burst", "x"], "x"),
    ] {
        let bad = change(&net, "a", arguments);
        assert!(bad.status.code() == Some(2) && said(&bad).contains(why), "{}", said(&bad));
    }
}
