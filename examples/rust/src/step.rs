use std::fmt;

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a step of the plugin has come to. A tool's failure is a result too, and has a code beside it.
#[derive(Debug, Deserialize)]
pub struct StepResult {
    pub result: Option<Value>,
    pub code: Option<String>,
}

/// The error of a step that has failed: nothing it did counts.
#[derive(Debug, Deserialize)]
pub struct StepError {
    pub code: String,
    pub message: String,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for StepError {}

impl StepResult {
    /// Parses what the plugin returns. An error in it becomes a [`StepError`].
    pub fn parse(output: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct Failed {
            error: Option<StepError>,
        }
        if let Failed { error: Some(error) } = serde_json::from_str(output)? {
            return Err(error.into());
        }
        Ok(serde_json::from_str(output)?)
    }
}

/// The input of `call`, for a tool that needs no configuration, called by the main session.
pub fn call_input(tool: &str, args: Value) -> String {
    json!({
        "abi": 1,
        "flowId": "f1",
        "step": 1,
        "callId": "c1",
        "now": 1_780_000_000_000_u64,
        "acceptedAt": 1_780_000_000_000_u64,
        "tool": tool,
        "args": args,
        "caller": {"sessionKey": "agent:main:main", "agentId": "main", "sandboxed": false, "depth": 0, "hops": 0},
        "config": {},
    })
    .to_string()
}
