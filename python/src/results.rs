//! The results of a run.

use std::sync::Arc;

use laxity_lab::campaign::Outcome;
use laxity_report::present::{figure, json, table};
use laxity_scenario::Scenario;
use laxity_scenario::figure::FigureSpec;
use laxity_world::metric::Metric;
use laxity_world::results::Standing;
use pyo3::prelude::*;

use crate::arrow::Table;
use crate::error::Error;

/// The outcome of all points of a scenario.
#[pyclass(frozen, module = "laxity._laxity")]
pub(crate) struct Results {
    outcome: Outcome,
    scenario: Arc<Scenario>,
}

impl Results {
    pub(crate) fn new(outcome: Outcome, scenario: Arc<Scenario>) -> Self {
        Self { outcome, scenario }
    }

    /// The figures of the report.
    fn specs(&self) -> Vec<FigureSpec> {
        match self.scenario.figures.as_slice() {
            [] => figure::defaults(&self.outcome.results),
            figures => figures.to_vec(),
        }
    }
}

#[pymethods]
impl Results {
    /// A row for each run and channel.
    fn table(&self) -> PyResult<Table> {
        Table::of_results(&self.outcome.results)
    }

    /// The text of `results.json`.
    fn json(&self) -> String {
        json::text(&self.outcome.results, &self.outcome.verdicts)
    }

    /// The verdicts as JSON.
    fn verdicts(&self) -> String {
        serde_json::to_string(&self.outcome.verdicts).expect("verdicts are plain data")
    }

    /// Errors in the scripts of claims.
    fn errors(&self) -> Vec<String> {
        self.outcome.errors.iter().map(ToString::to_string).collect()
    }

    /// The result of all in a word, as the exit code of `laxity run` has it.
    fn standing(&self) -> &'static str {
        match self.outcome.standing() {
            Standing::Holds => "holds",
            Standing::NotJudged => "not judged",
            Standing::Fails => "fails",
            Standing::BadClaim => "bad claim",
        }
    }

    /// Why the directory of results could not be written.
    fn unwritten(&self) -> Option<String> {
        self.outcome.unwritten.clone()
    }

    /// The table that `laxity run` prints.
    #[pyo3(signature = (width=None))]
    fn text(&self, width: Option<u16>) -> String {
        let options = table::TableOptions { width, ..table::TableOptions::default() };
        table::text(&self.outcome.results, &self.outcome.verdicts, &options)
    }

    /// The figures of the report, or the figure of this metric over that axis, as JSON.
    #[pyo3(signature = (y=None, x=None, channels=Vec::new()))]
    fn figures(&self, y: Option<&str>, x: Option<String>, channels: Vec<String>) -> PyResult<String> {
        let wrong = |error: &dyn std::fmt::Display| Error::new_err(error.to_string());
        let specs = match y {
            None => self.specs(),
            Some(y) => {
                let metric = y.parse::<Metric>().map_err(|error| wrong(&error))?;
                vec![FigureSpec { channels, ..FigureSpec::new(&x.unwrap_or_default(), metric) }]
            }
        };
        let data: Result<Vec<_>, _> =
            specs.iter().map(|spec| figure::data(&self.outcome.results, spec)).collect();
        let data = data.map_err(|error| wrong(&error))?;
        Ok(serde_json::to_string(&data).expect("figures are plain data"))
    }
}
