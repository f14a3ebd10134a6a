use std::path::Path;

use laxity_units::Span;

use super::*;

fn adapter(name: &str) -> AdapterFile {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters");
    AdapterFile::load(&root.join(format!("{name}.toml"))).unwrap_or_else(|errors| panic!("{errors}"))
}

fn all() -> Vec<AdapterFile> {
    laxity_scenario::built_in_adapters().iter().map(|name| adapter(name)).collect()
}

#[test]
fn an_adapter_is_shown_as_a_table() {
    let shown = ["null", "cim250", "ring-edf", "template"].map(|name| text(&adapter(name), None));
    insta::assert_snapshot!(shown.join("\n\n"));
}

/// Thesis Eq. 5.5 at 4 KiB: DMA and two thirds of Fiber Channel's overhead and its frames share the
/// bus; with two buses the slower of the two limits (Eq. 5.6).
#[test]
fn the_part_that_limits_is_the_papers() {
    let size = Bytes::from_kib(4);
    let limit = |name: &str| adapter(name).adapter.described().bottleneck(size);
    let dma = Span::from_ns(16 * 1760 + 4096 * 420);
    let fc = Span::from_ns(900_000 + 2 * 79_750);
    assert_eq!(limit("cim250"), ("resource bus".into(), dma + fc));
    assert_eq!(limit("cim250-dual"), ("stage dma".into(), dma));
    assert_eq!(limit("cim250-simple-dual"), ("stage dma".into(), dma));
    assert_eq!(limit("end-edd"), ("stage link".into(), Span::from_ns(48_000 + 4096 * 40)));
}

/// Stages in parallel and phases for other sizes do not count.
#[test]
fn servers_divide_and_sizes_choose() {
    let mut description = adapter("template").adapter.described().into_owned();
    let (short, long) = (Bytes::new(64), Bytes::new(1500));
    // Interpreting, what real time takes beside that, and 120 ns for each byte.
    assert_eq!(description.transmit[0].service(short), Span::from_ns(5000 + 1000 + 64 * 120));
    assert!(description.transmit[0].service(long) > Span::from_us(7 + 1));
    description.transmit[1].servers = 1000;
    description.transmit[1].phases[1].medium = false;
    assert_ne!(description.bottleneck(long).0, "stage link");
}

#[test]
fn every_adapter_can_be_drawn_and_no_two_look_alike() {
    let drawings: Vec<String> = all().iter().map(svg).collect();
    for (file, drawing) in all().iter().zip(&drawings) {
        let description = file.adapter.described();
        for stage in description.transmit.iter().chain(&description.receive) {
            assert!(drawing.contains(&format!(">{}<", stage.name)), "{}: {}", file.name, stage.name);
        }
        assert!(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n") && !drawing.contains("NaN"));
        assert_eq!(drawings.iter().filter(|other| *other == drawing).count(), 1, "{}", file.name);
        // Each dot of a held resource has its colour's rail.
        let held: usize = phases(&description).map(|phase| phase.holds.len()).sum();
        assert_eq!(drawing.matches(r#"r="2.4""#).count(), held, "{}", file.name);
    }
}

#[test]
fn names_are_harmless_in_a_drawing_and_in_a_terminal() {
    let mut file = adapter("null");
    file.title = "<b>&\u{1b}[2J".into();
    let drawing = svg(&file);
    assert!(drawing.contains("&lt;b&gt;&amp;\u{fffd}[2J") && !drawing.contains('\u{1b}'));
    assert!(!text(&file, Some(60)).contains('\u{1b}'));
}
