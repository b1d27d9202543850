//! Shows how a call can fail, the error of each failure, and that the plugin answers afterwards.

use anyhow::{Context, Result, bail};
use parley_example::{Imports, PARLEY, ParleyError, Plugin, StepResult, call_input, versions};
use serde_json::{Value, json};

const TRAP: &str = "../../testdata/hostile/trap.wasm";

/// A store without sessions, and an agent that accepts every run.
struct Empty {
    down: bool,
}

impl Imports for Empty {
    fn answer(&mut self, namespace: &str, _request: &str) -> Result<String> {
        match namespace {
            "store" if self.down => bail!("the store is down"),
            "store" => Ok(r#"{"ok":{"rows":[],"more":false}}"#.into()),
            "agent" => Ok(r#"{"ok":{"runId":"r1"}}"#.into()),
            _ => bail!("unexpected namespace {namespace}"),
        }
    }
}

fn main() -> Result<()> {
    println!("{}", versions());
    let mut parley = Plugin::load(PARLEY, Empty { down: false })?;
    let mut hostile = Plugin::load(TRAP, Empty { down: false })?;

    // The hostile module traps if its input contains a ^.
    let error = step(&mut hostile, "hostile", json!({"task": "^"}))
        .err()
        .context("no trap")?;
    println!("a trap: {}", error.root_cause());
    step(&mut hostile, "hostile", json!({}))?;
    println!("  a new instance of that module answers");
    still_answers(&mut parley)?;

    parley.imports().down = true;
    let error = step(&mut parley, "sessions_list", json!({}))
        .err()
        .context("no error")?;
    println!("an error of a host function: {}", error.root_cause());
    parley.imports().down = false;
    println!("  a new instance, because the call has ended in the middle");
    still_answers(&mut parley)?;

    let error: ParleyError = step(&mut parley, "no_such_tool", json!({}))
        .err()
        .context("no error")?
        .downcast()?;
    println!(
        "an unknown tool: ParleyError, code {}, message {}",
        error.code, error.message
    );
    still_answers(&mut parley)?;

    let StepResult { result, code, .. } =
        step(&mut parley, "sessions_list", json!({"limit": "many"}))?;
    println!(
        "a bad argument: a result, {}, code {}",
        result.context("no result")?,
        code.context("no code")?
    );
    still_answers(&mut parley)
}

fn step(plugin: &mut Plugin<Empty>, tool: &str, args: Value) -> Result<StepResult> {
    plugin.ask("call", &call_input(tool, args))
}

fn still_answers(parley: &mut Plugin<Empty>) -> Result<()> {
    let answer = step(parley, "sessions_list", json!({}))?;
    if let Some(code) = answer.code {
        bail!("the plugin answers {code}");
    }
    println!("  and the plugin still answers");
    Ok(())
}
