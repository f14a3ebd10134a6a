//! Claims over several draws: one verdict from those in each.

use laxity_world::results::{Axis, Draws, Ruling};

use super::Found;

/// The verdict of all draws, the points of `axis`, from that in each.
///
/// A draw that could not be judged does not count; with none judged there is no verdict. The figures
/// are those of the first draw with the verdict of all, and of the first draw with the other.
pub(super) fn joined(axis: &Axis, found: &[Found]) -> Found {
    let held = found.iter().filter(|found| found.ruling.holds()).count();
    let contradicted = found.iter().filter(|found| found.ruling == Ruling::Contradicted).count();
    let spoilt = found.iter().any(|found| found.spoilt);
    let draws = Draws { held, of: held + contradicted };
    if draws.of == 0 {
        let because = found.first().map_or("there are no draws", |found| found.ruling.detail());
        let ruling = Ruling::NotJudged { because: because.to_string() };
        return Found { spoilt, ..Found::of(ruling, String::new()) };
    }
    let ruling = if draws.hold() { Ruling::Holds } else { Ruling::Contradicted };
    let first = |ruling: &Ruling| {
        let (at, found) = found.iter().enumerate().find(|(_, found)| found.ruling == *ruling)?;
        Some((axis.points[at].text.as_str(), found.figure.as_str()))
    };
    let other = if draws.hold() { Ruling::Contradicted } else { Ruling::Holds };
    let mut figure = first(&ruling).map_or(String::new(), |(_, figure)| figure.to_string());
    if let Some((seed, differs)) = first(&other).filter(|(_, differs)| !differs.is_empty()) {
        figure = match first(&ruling) {
            Some((like, _)) => format!("seed {like}: {figure}; seed {seed}, {}: {differs}", other.word()),
            None => format!("seed {seed}, {}: {differs}", other.word()),
        };
    }
    Found { draws: Some(draws), spoilt, ..Found::of(ruling, figure) }
}

#[cfg(test)]
mod tests {
    use laxity_world::results::AxisPoint;

    use super::*;

    fn joined_of(rulings: &[Ruling]) -> Found {
        let points = (1..=rulings.len()).map(|n| AxisPoint { text: n.to_string(), value: None }).collect();
        let axis = Axis { name: "seed".into(), label: "seed".into(), points };
        let of = |(n, ruling): (usize, &Ruling)| Found::of(ruling.clone(), format!("figure {}", n + 1));
        joined(&axis, &rulings.iter().enumerate().map(of).collect::<Vec<_>>())
    }

    #[test]
    fn a_claim_holds_that_holds_in_nine_draws_of_ten() {
        let mut rulings = vec![Ruling::Holds; 10];
        let found = joined_of(&rulings);
        assert_eq!((found.ruling, found.figure.as_str()), (Ruling::Holds, "figure 1"));
        assert_eq!(found.draws, Some(Draws { held: 10, of: 10 }));
        rulings[4] = Ruling::Contradicted;
        let found = joined_of(&rulings);
        assert_eq!(found.figure, "seed 1: figure 1; seed 5, contradicted: figure 5");
        assert_eq!((found.ruling, found.draws), (Ruling::Holds, Some(Draws { held: 9, of: 10 })));
        rulings[0] = Ruling::Contradicted;
        let found = joined_of(&rulings);
        assert_eq!(found.figure, "seed 1: figure 1; seed 2, holds: figure 2");
        assert_eq!((found.ruling, found.draws), (Ruling::Contradicted, Some(Draws { held: 8, of: 10 })));
    }

    #[test]
    fn draws_that_cannot_be_judged_do_not_count() {
        let open = Ruling::NotJudged { because: "it stood still".into() };
        let found = joined_of(&[open.clone(), Ruling::Holds]);
        assert_eq!((found.ruling, found.draws), (Ruling::Holds, Some(Draws { held: 1, of: 1 })));
        let found = joined_of(&[open.clone(), open.clone()]);
        assert_eq!((found.ruling, found.draws), (open, None));
    }
}
