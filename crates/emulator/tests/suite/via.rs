//! Programs at virtual interfaces of emulated adapters.

mod asked;
mod beside;
mod lost;
mod messages;
mod protection;
mod raw;
mod readme;
mod support;
mod users;
