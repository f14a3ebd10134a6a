//! What results say: claims judged, and tables, figures and files for people and machines.
//!
//! All of it is made from one [`Results`](laxity_world::results::Results), which is data: who ran it, under which clock and on which
//! machine is written in it and matters to nobody here. [`claims`] compiles and judges the scripts of a scenario; [`present`]
//! makes the terminal's table, SVG figures, the HTML report, JSON and Parquet; [`glossary`] explains every word that any of them
//! uses, from where the word is defined; [`capture`] writes a run's packets as an analyser reads them; [`output`] is the one way to a disk for what a person names.
//!
//! ```text
//! Results ──claims──▶ Verdicts ──present──▶ text, SVG, HTML, Parquet ──output──▶ files
//!    └────────────────────────────▲
//! ```
//!
//! The heavy libraries (a script engine, a Parquet writer, a plotter) stand here and nowhere else. It knows scenarios as far as
//! they say what is claimed and what is to be drawn, and **nothing of how an experiment is run**: nothing in here could.

pub mod capture;
pub mod claims;
pub mod glossary;
pub mod interval;
pub mod misses;
pub mod output;
pub mod present;
