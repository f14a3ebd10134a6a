//! `kind = "mpeg"`: a film by its name, or by its summary.

use laxity_model::source::mpeg::{FilmParameters, Pattern};

use super::*;

/// The summary of a film, and where the scenario gives it; `None` if it gives none.
pub(super) type Summary = Option<(FilmParameters, Range<usize>)>;

/// Reads the keys of a film.
pub(super) fn read(cx: &mut Context<'_>, keys: &SourceKeys) -> Result<Summary, Reported> {
    let sizes = [&keys.min, &keys.max, &keys.mean, &keys.deviation].map(Key::placed);
    let [min, max, mean, deviation] = sizes;
    let (film, sizes) = (keys.film.placed()?, [min?, max?, mean?, deviation?]);
    let pattern = Pattern::new(keys.pattern.value.as_ref().map_err(|reported| *reported)?);
    let pattern_at = keys.pattern.at.clone();
    let pattern = pattern.map_err(|error| {
        let reason = format!("the pattern {}", error.reason());
        cx.fault(&pattern_at.clone().unwrap_or_default(), reason, format!("valid is {}", error.valid()))
    })?;
    let said = sizes.iter().flatten().map(Spanned::span).chain(pattern_at);
    let said = said.min_by_key(|span| span.start);
    if let (Some(film), Some(other)) = (&film, &said) {
        let reason = format!("the film `{}` has a summary of its own", word(*film.get_ref()));
        return Err(cx.fault(other, reason, "keep either `film` or the summary of another"));
    }
    if let Some(film) = film {
        return Ok(Some((film.get_ref().parameters(), film.span())));
    }
    let Some(place) = said else { return Ok(None) };
    let names = ["min", "max", "mean", "deviation"];
    if let Some((missing, _)) = names.iter().zip(&sizes).find(|(_, size)| size.is_none()) {
        let valid = format!("a size such as `{missing} = \"2 kB\"`");
        return Err(cx.missing(missing, &place, "the summary of the film", &valid));
    }
    let bits = sizes.map(|size| size.map_or(0, |size| size.into_inner().get() * 8));
    let [min, max, mean, deviation] = bits;
    Ok(Some((FilmParameters { min, max, mean, deviation, pattern }, place)))
}

/// The film itself, and the place to blame for it.
pub(super) fn make(
    cx: &mut Context<'_>,
    library: &mut Library<'_>,
    summary: Summary,
    owner: &Range<usize>,
) -> Result<(Arc<Trace>, Range<usize>), Reported> {
    let Some((parameters, place)) = summary else {
        let valid =
            "one of the films of thesis Table 6.4, or `min`, `max`, `mean` and `deviation` of another";
        return Err(cx.missing("film", owner, "this source", valid));
    };
    match library.film(&parameters) {
        Ok(film) => Ok((film, place)),
        Err(error) => {
            let reason = format!("the film's {} {}", error.parameter(), error.reason());
            Err(cx.fault(&place, reason, format!("valid is {}", error.valid())))
        }
    }
}
