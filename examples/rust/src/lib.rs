//! A host of the Parley plugin, on the Extism SDK for Rust.
//!
//! [`Plugin`] loads the module and hands what it asks for to its [`Imports`]. [`Host`] is a small host with agents, and [`demo`] shows it at
//! work. The binaries `replay`, `calls` and `failures` need less.

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
