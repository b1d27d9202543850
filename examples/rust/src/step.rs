use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Target;

/// The output of a step. A tool's failure is a result too, with a code.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepResult {
    pub result: Option<Value>,
    pub code: Option<String>,
    pub wait: Option<Wait>,
    /// The status of the flow, for people.
    pub note: Option<String>,
}

/// The condition that resumes the flow, and the state for its next step.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wait {
    pub run: Option<String>,
    pub until: Option<i64>,
    pub state: Value,
    pub state_version: u64,
}

/// The error of a failed step, which has no effects, or of a refused request. Programs compare the code; the message is for people.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParleyError {
    pub code: String,
    pub message: String,
}

impl ParleyError {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        ParleyError { code, message }
    }
}

impl fmt::Display for ParleyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ParleyError {}

/// The caller of a tool. `target` is the destination of texts for it.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    pub session_key: String,
    pub agent_id: String,
    #[serde(flatten)]
    pub target: Target,
    pub sandboxed: bool,
    pub depth: u64,
    pub hops: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// The current time in milliseconds since the epoch.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.expect("the clock is past 1970").as_millis() as i64
}

/// The input of `call` for a tool without settings, called by the main session.
pub fn call_input(tool: &str, args: Value) -> Value {
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
}
