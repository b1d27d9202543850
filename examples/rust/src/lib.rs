//! A host of the Parley plugin, on the Extism SDK for Rust.
//!
//! [`Plugin`] loads the module and hands what it asks for to a [`Host`]. The binaries `replay`, `calls` and `failures` are three such hosts.

mod decimal;
mod difference;
pub mod memory;
mod plugin;
mod replay;
mod step;
mod transcript;

pub use difference::{Difference, compare};
pub use plugin::{Host, PARLEY, Plugin, versions};
pub use replay::{Recorded, replay};
pub use step::{StepError, StepResult, call_input};
pub use transcript::{Transcript, transcripts};
