//! A host of the Parley plugin, on the Extism SDK for Rust.
//!
//! [`Plugin`] loads the module and passes its host calls to its [`Imports`]. [`Host`] is a small host with agents, and [`demo`] uses it.
//! The binaries `replay`, `calls` and `failures` use `Plugin` alone.

mod decimal;
pub mod demo;
mod difference;
mod host;
pub mod memory;
mod plugin;
mod replay;
mod request;
mod runs;
mod state;
mod step;
mod store;
mod recording;

pub use difference::{Difference, compare};
pub use host::{Agent, Answer, Deliver, Host, Parked, Setup};
pub use plugin::{Imports, PARLEY, Plugin, Watch, versions};
pub use replay::{Recorded, replay};
pub use runs::Task;
pub use step::{ParleyError, StepResult, call_input};
pub use store::{Known, Route, Session, Target};
pub use recording::{Recording, recordings};
