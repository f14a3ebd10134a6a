//! Campaigns over scenario files: bounds, laws, attacks, scripts and documents.

mod advice;
mod attacks;
mod bounds;
mod exceeded;
mod laws;
mod links;
mod metrics;
mod pieces;
mod readme;
mod scripts;
