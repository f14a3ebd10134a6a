//! What is lost has failed when it is lost, and what carried nothing shows nothing.

use laxity_scenario::Scenario;
use laxity_world::results::Run;
use laxity_world::run;

fn of(text: &str) -> Run {
    let scenario = Scenario::from_text("test.toml", text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    run(&scenario.first())
}

const HOST: &str = "title = \"a test\"\n[host]\nprofile = \"mc68040\"\nspeedup = 100.0\n";
const NULL: &str = "[adapter]\nkind = \"null\"\nstartup = \"1 us\"\nper_byte = \"1 ns\"\n";

/// A network that loses all: it has a bound, misses no deadline, and carried nothing.
#[test]
fn a_total_loss_behind_the_last_transmission_carries_nothing() {
    let of_loss = |loss: &str| {
        of(&format!(
            "{HOST}subsystem = {{ packet = \"1500 B\" }}\n{NULL}[node.a]\n[node.b]\n[network.w]\njoins = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\n\
             framing = \"ethernet\"\n{loss}[run]\ntime = \"1 s\"\n[[channel]]\nname = \"film\"\nclass = \"real_time\"\n\
             from = \"a\"\nto = \"b\"\nmax_message = \"200 B\"\nburst = 1\nmin_interval = \"5 ms\"\ndeadline = \"5 ms\"\n\
             source = {{ kind = \"periodic\" }}\n"
        ))
    };
    let (all, none) = (of_loss("impairments = { loss = 1.0 }\n"), of_loss(""));
    assert!(all.channels[0].packets > 190 && all.channels[0].worst.is_some(), "they were transmitted");
    assert_eq!((all.channels[0].delivered, all.channels[0].fails()), (Some(0), false));
    assert!(all.shows_nothing().unwrap().contains("nothing was carried"));
    assert_eq!(none.shows_nothing(), None);
}
