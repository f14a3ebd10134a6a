//! `kind = "cim250"`: the parameters of thesis Table 5.1, each with its source.

use laxity_model::adapter::Description;
use laxity_model::adapter::cim250::Cim250;
use laxity_units::Bytes;

use super::*;
use crate::raw::Cited;

pub(super) fn description(
    cx: &mut Context<'_>,
    sources: &mut Sources,
    keys: AdapterKeys,
    owner: &Range<usize>,
) -> Result<Description, Reported> {
    let mut parameters = Parameters { cx, sources, owner };
    let command = parameters.read("command", keys.command);
    let response = parameters.read("response", keys.response);
    let dma_segment = parameters.read("dma_segment", keys.dma_segment);
    let dma_overhead = parameters.read("dma_overhead", keys.dma_overhead);
    let dma_byte_small = parameters.read("dma_byte_small", keys.dma_byte_small);
    let small = parameters.read("small", keys.small);
    let dma_byte_large = parameters.read("dma_byte_large", keys.dma_byte_large);
    let fc_overhead = parameters.read("fc_overhead", keys.fc_overhead);
    let overlap_place = keys.fc_overlap.at().unwrap_or_else(|| owner.clone());
    let fc_overlap = parameters.read("fc_overlap", keys.fc_overlap);
    let fc_frame = parameters.read::<_, Bytes>("fc_frame", keys.fc_frame);
    let fc_frame_delay = parameters.read("fc_frame_delay", keys.fc_frame_delay);
    let cim = Cim250 {
        command: command?,
        response: response?,
        dma_segment: dma_segment?,
        dma_overhead: dma_overhead?,
        dma_byte_small: dma_byte_small?,
        small: small?,
        dma_byte_large: dma_byte_large?,
        fc_overhead: fc_overhead?,
        fc_overlap: fc_overlap?,
        fc_frame: fc_frame?,
        fc_frame_delay: fc_frame_delay?,
        interface: keys.interface.value?,
        memory: keys.memory.value?,
    };
    if cim.fc_overlap > cim.fc_overhead {
        let reason = format!("`fc_overlap` is a part of `fc_overhead`, which is {}", cim.fc_overhead);
        return Err(cx.fault(&overlap_place, reason, "use at most that"));
    }
    Ok(cim.description())
}

/// Reads one parameter after the other.
struct Parameters<'c, 'a, 's> {
    cx: &'c mut Context<'a>,
    sources: &'s mut Sources,
    owner: &'s Range<usize>,
}

impl Parameters<'_, '_, '_> {
    fn read<B: Bounds<Quantity = Q>, Q>(
        &mut self,
        key: &str,
        field: Option<Cited<Bounded<B>>>,
    ) -> Result<Q, Reported> {
        let Parameters { cx, sources, owner } = self;
        let what = format!("`{key}`");
        match field {
            None => {
                let valid = format!("`{{ value = \"{}\", source = \"…\" }}`", B::LIKE);
                Err(cx.missing(key, owner, "the CIM 250", &valid))
            }
            Some(Either::Scalar(written)) => {
                let cited = sources.cite(cx, Ok(None), true, &written.span, &what);
                let value = cx.value(written);
                cited.and(value).map(|value| value.into_inner().get())
            }
            Some(Either::Table(part)) => {
                let part = cx.part(part)?;
                let (span, raw) = (part.span(), part.into_inner());
                let source = cx.optional(raw.source);
                let cited = sources.cite(cx, source, true, &span, &what);
                let value = cx.required(raw.value, "value", &span, &what);
                cited.and(value).map(|value| value.into_inner().get())
            }
        }
    }
}
