//! Calls a tool N times on one instance, and fails if the memory grows: `calls [N]`.

use std::env;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use parley_example::{Imports, PARLEY, Plugin, StepResult, call_input, memory, versions};
use serde_json::json;

/// A store with one session.
struct OneSession;

impl Imports for OneSession {
    fn answer(&mut self, _namespace: &str, _request: &str) -> Result<String> {
        Ok(r#"{"ok":{"rows":[{"session":{"key":"agent:main:main","agentId":"main","kind":"other","sessionId":"s1","updatedAt":1780000000000}}],"more":false}}"#.into())
    }
}

fn main() -> Result<()> {
    println!("{}", versions());
    let n: usize = env::args()
        .nth(1)
        .map_or(Ok(100_000), |n| n.parse())
        .context("usage: calls [N]")?;
    ensure!(n > 0, "usage: calls [N], N at least 1");
    let input = call_input("sessions_list", json!({})).to_string();
    let mut plugin = Plugin::load(PARLEY, OneSession)?;
    let _: StepResult = plugin.ask("call", &call_input("sessions_list", json!({})))?;

    let tenth = n.div_ceil(10);
    let mut early = None;
    let start = Instant::now();
    for done in 1..=n {
        plugin.call("call", &input)?;
        if done % tenth == 0 {
            let resident = memory::resident()?;
            early.get_or_insert(resident);
            eprintln!("{done} calls, {resident:.1} MiB");
        }
    }
    let rate = n as f64 / start.elapsed().as_secs_f64();
    let late = memory::resident()?;
    let early = early.unwrap_or(late);
    println!(
        "{n} calls, {rate:.0} calls/s, memory {early:.1} MiB after the first tenth, {late:.1} MiB at the end"
    );
    ensure!(late <= 1.1 * early + 4.0, "memory has grown");
    Ok(())
}
