//! Runs the demo of the small host.

use std::io;
use std::sync::Arc;

use anyhow::Result;

fn main() -> Result<()> {
    parley_example::demo::demo(&mut io::stdout(), Arc::new(|_, _, _| ()))
}
