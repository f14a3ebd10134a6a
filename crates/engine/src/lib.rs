//! Placeholder while the crate is laid down.
