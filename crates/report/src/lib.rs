//! Judges claims and presents results: tables, figures and files for people and machines.
//!
//! Everything is made from one [`Results`](laxity_world::results::Results) value, which also holds
//! the run's provenance, clock and machine. The code here does not depend on them.
//!
//! - [`claims`] compiles and judges the scripts of a scenario.
//! - [`present`] makes the terminal's table, SVG figures, the HTML report, JSON, CSV and Parquet.
//! - [`diff`] compares the results of two runs.
//! - [`glossary`] explains every word that they use, from the word's definition.
//! - [`capture`] writes a run's packets as an analyser reads them.
//! - [`perfetto`] writes its trace for Perfetto.
//! - [`output`] writes the files that a user names.
//!
//! ```text
//! Results ──claims──▶ Verdicts ──present──▶ text, SVG, HTML, Parquet ──output──▶ files
//!    └────────────────────────────▲
//! ```
//!
//! The heavy libraries (a script engine, a Parquet writer, a plotter) are used here only. The crate
//! reads the claims and figures of a scenario, and is **independent of how an experiment is run**.

pub mod capture;
pub mod claims;
pub mod diff;
pub mod glossary;
pub mod interval;
pub mod misses;
pub mod output;
pub mod perfetto;
pub mod present;
