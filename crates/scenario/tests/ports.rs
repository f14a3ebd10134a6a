//! Ports and channels that are refused, each at its key, and neighbouring cases that are valid.

use laxity_scenario::Scenario;

/// A port at a node with an address.
fn port(node: u8, address: &str) -> String {
    format!(
        "[[port]]\nnode = {node}\ninterface = \"lx-{node}\"\nnamespace = \"lx-{node}\"\naddress = \"{address}\"\n"
    )
}

fn channel(name: &str, ends: (u8, u8), carries: &str, more: &str) -> String {
    let (from, to) = ends;
    format!(
        "[[channel]]\nname = \"{name}\"\nfrom = {from}\nto = {to}\nclass = \"best_effort\"\nburst = 4\ncarries = \"{carries}\"\n\
         source = {{ kind = \"none\" }}\n{more}\n"
    )
}

const LONG: &str = "max_message = \"1514 B\"";

/// The errors of three hosts with these tables, each the line at which it stands and what it says.
fn errors(tables: &[String]) -> Vec<String> {
    let text = format!(
        "title = \"a test\"\n[host]\nprofile = \"mc68040\"\n[adapter]\nkind = \"generic\"\n[[adapter.transmit]]\nname = \"link\"\n\
         phase = [{{ rate = \"100 Mbit/s\", medium = true }}]\n[admission]\nformula = \"off\"\n\
         [network]\nkind = \"token_ring\"\nstations = 3\nrotation = \"2 ms\"\nholding = \"300 us\"\n[run]\ntime = \"1 s\"\n{}",
        tables.concat()
    );
    match Scenario::from_text("test.toml", &text) {
        Ok(_) => Vec::new(),
        Err(diagnostics) => {
            let shown = diagnostics.render(false);
            shown.split("\nerror").map(str::to_string).collect()
        }
    }
}

/// There is one error, which has all of these words.
fn refused(tables: &[String], words: &[&str]) {
    let errors = errors(tables);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    for word in words {
        assert!(errors[0].contains(word), "{word:?} is missing in\n{}", errors[0]);
    }
}

fn three() -> Vec<String> {
    vec![port(0, "10.0.0.1/24"), port(1, "10.0.0.2/24"), port(2, "10.0.0.3/24")]
}

fn with(channels: &[String]) -> Vec<String> {
    [three(), channels.to_vec()].concat()
}

#[test]
fn what_is_right_is_taken() {
    let right = [
        channel("a", (0, 1), "udp 7", LONG),
        channel("b", (0, 1), "udp", LONG),
        channel("c", (0, 1), "dscp 46", LONG),
        channel("d", (0, 1), "all", LONG),
        channel("e", (0, 2), "all", LONG),
        channel("f", (1, 0), "all", LONG),
    ];
    assert_eq!(errors(&with(&right)), [""; 0]);
}

#[test]
fn a_channel_that_an_earlier_one_covers_is_refused() {
    for (first, second) in [
        ("all", "icmp"),
        ("all", "all"),
        ("udp", "udp 7"),
        ("tcp", "tcp"),
        ("tcp 80", "tcp 80"),
        ("dscp 1", "dscp 1"),
    ] {
        let channels = [channel("one", (0, 1), first, LONG), channel("two", (0, 1), second, LONG)];
        let key = format!("carries = \"{second}\"");
        refused(&with(&channels), &["channel `two` gets no frame: `one`", "from node 0 to node 1", &key]);
        let elsewhere = [channel("one", (0, 1), first, LONG), channel("two", (0, 2), second, LONG)];
        assert_eq!(errors(&with(&elsewhere)), [""; 0]);
    }
    let copies = [channel("one", (0, 1), "udp", &format!("count = 3\n{LONG}"))];
    refused(&with(&copies), &["channel `one-2` gets no frame: `one-1`", "remove `count`"]);
}

#[test]
fn equal_addresses_and_interfaces_are_refused() {
    let all = [channel("a", (0, 1), "all", LONG)];
    let ports = [port(0, "10.0.0.1/24"), port(1, "10.0.0.2/24"), port(2, "10.0.0.1/16")];
    refused(
        &[&ports[..], &all].concat(),
        &["node 0 has the address 10.0.0.1, too", "address = \"10.0.0.1/16\""],
    );
    let second = port(1, "10.0.0.2/24").replace("lx-1", "lx-0");
    refused(
        &[&[port(0, "10.0.0.1/24"), second][..], &all].concat(),
        &["node 0 has an interface lx-0 in the same namespace"],
    );
}

#[test]
fn ports_whose_subnets_cannot_meet_are_refused_where_a_channel_is_between_them() {
    for other in ["10.0.1.2/24", "fd00::2/64"] {
        let ports = [port(0, "10.0.0.1/24"), port(1, other), port(2, "10.0.0.3/24")];
        let key = format!("address = \"{other}\"");
        let between = [channel("a", (0, 1), "all", LONG), channel("b", (1, 0), "all", LONG)];
        refused(&[&ports[..], &between].concat(), &["outside of that subnet", &key]);
        assert_eq!(errors(&[&ports[..], &[channel("a", (0, 2), "all", LONG)]].concat()), [""; 0]);
    }
}

#[test]
fn frames_that_are_longer_than_their_channel_takes_are_refused() {
    let short = |carries| [channel("a", (0, 1), carries, "max_message = \"1513 B\"")];
    refused(
        &with(&short("all")),
        &["frames of up to 1514 B", "max_message = \"1513 B\"", "`\"1514 B\"` or more, or `mtu = 1499`"],
    );
    refused(&with(&short("udp 7")), &["up to 1514 B"]);
    let long = port(0, "10.0.0.1/24") + "mtu = 9000\n";
    refused(&[long, port(1, "10.0.0.2/24"), channel("a", (0, 1), "all", LONG)], &["frames of up to 9014 B"]);
    let low = port(0, "10.0.0.1/24") + "mtu = 186\n";
    let small = channel("a", (0, 1), "all", "max_message = \"200 B\"");
    assert_eq!(errors(&[low, port(1, "10.0.0.2/24"), small]), [""; 0]);
    // The length of datagrams on a real-time channel is the choice of its program.
    let real_time = |carries| {
        let contract = "max_message = \"200 B\"\nmin_interval = \"1 ms\"\ndeadline = \"1 ms\"";
        [channel("a", (0, 1), carries, contract).replace("best_effort", "real_time")]
    };
    assert_eq!(errors(&with(&real_time("udp 7"))), [""; 0]);
    refused(&with(&real_time("tcp")), &["up to 1514 B"]);
}
