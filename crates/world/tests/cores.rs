//! What a host with several cores promises: by where its channels and its link scheduler are.

use laxity_qos::admission::Formula;
use laxity_scenario::Scenario;
use laxity_units::Span;
use laxity_world::promise::{self, Promise};

/// The bound of the one guaranteed channel of a host with two cores, whose link scheduler is a thread or has its timer on `at`, with a lone frame on `film`'s core and best effort of `bulk` packets at a time on the other. The first core hears of completions.
fn bound(paradigm: &str, at: u8, film: u8, bulk: u32) -> Option<Span> {
    let text = format!(
        "title = \"two cores\"\n[host]\nprofile = \"mc68040\"\nspeedup = 10\ncores = 2\ncosts = {{ interrupt = \"30 us\" }}\nsubsystem = {{ packet = \"1500 B\", preemption = {{ best_effort = {bulk} }}, \
         link = {{ paradigm = \"{paradigm}\", core = {at} }} }}\n[adapter]\nkind = \"null\"\nstartup = \"10 us\"\nper_byte = \"80 ns\"\n[run]\ntime = \"1 s\"\n\
         [[channel]]\nname = \"film\"\ncore = {film}\nclass = \"real_time\"\nmax_message = \"1500 B\"\nburst = 1\nmin_interval = \"40 ms\"\n\
         deadline = \"30 ms\"\nsource = {{ kind = \"periodic\" }}\n[[channel]]\nname = \"bulk\"\ncore = {}\nclass = \"best_effort\"\n\
         max_message = \"60 KiB\"\nmin_message = \"60 KiB\"\nburst = 4\nsource = {{ kind = \"continuous\" }}\n",
        1 - film
    );
    let scenario = Scenario::from_text("test.toml", &text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    let promises = promise::promises(&scenario.first(), Formula::Corrected).ok()?.channels;
    promises.into_iter().find_map(|promise| match promise {
        Promise::Admitted(hops) => Some(hops[0].bound.bound),
        _ => None,
    })
}

/// Under O1 a handler calls by itself, and blocks of another core are nothing to it. A thread waits for those of its own core: with ten packets of best effort in a block longer than with one, by nine for each packet; and where best effort is elsewhere, for none.
#[test]
fn a_thread_waits_for_blocks_of_its_core() {
    let of = |paradigm, at, film, bulk| bound(paradigm, at, film, bulk).expect("there is time for it");
    for film in [0, 1] {
        let other = 1 - film;
        assert_eq!(of("O1", 0, film, 1), of("O1", 0, film, 10));
        assert_eq!(of("O2", film, film, 1), of("O2", film, film, 10));
        let (short, long) = (of("O2", other, film, 1), of("O2", other, film, 10));
        // 17 us more for each packet of a block, but for the first.
        let more = long - short;
        assert!(more >= Span::from_us(9 * 17) && more < Span::from_us(9 * 40), "{short} and {long}");
    }
}

/// Where packets are noticed that were held, interrupts may be pending: longer where completions are heard of, also under O1.
#[test]
fn who_turns_current_is_noticed_by_the_timer_that_has_the_links() {
    let of = |at| bound("O1", at, 1, 1).expect("there is time for it");
    assert!(of(0) > of(1), "{} and {}", of(0), of(1));
}
