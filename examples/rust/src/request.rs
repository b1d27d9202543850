//! The requests of host functions: section 4 of `abi/README.md`. Absent members are empty or 0 here.

use serde::Deserialize;
use serde_json::{Error, Value};

use crate::ParleyError;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Request {
    #[serde(rename = "store.get")]
    Get { session_key: String },
    #[serde(rename = "store.resolve")]
    Resolve(Resolve),
    #[serde(rename = "store.list")]
    List(List),
    #[serde(rename = "store.history")]
    History(History),
    #[serde(rename = "store.create")]
    Create(Create),
    #[serde(rename = "store.archive")]
    Archive { session_key: String },
    #[serde(rename = "store.delete")]
    Delete { session_key: String },
    #[serde(rename = "agent.status")]
    Status { run_id: String },
    #[serde(rename = "agent.waits")]
    Waits { session_key: String },
    #[serde(rename = "agent.run")]
    Run(Run),
    #[serde(rename = "deliver.send")]
    Send(Send),
    #[serde(other)]
    Unknown,
}

/// This host ignores `main_key` and `global`, because it stores the session context that `derive` returns.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Resolve {
    pub session_id: String,
    pub scope: Option<Scope>,
    pub main_key: String,
    pub global: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct List {
    pub scope: Option<Scope>,
    pub main_key: String,
    pub global: String,
    pub kinds: Vec<String>,
    pub agent_id: String,
    pub label: String,
    pub search: String,
    pub active_since: i64,
    pub include_archived: bool,
    pub after: Option<After>,
    pub limit: usize,
    pub messages: usize,
    pub max_bytes: usize,
}

/// The visible sessions: the union of its members.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Scope {
    pub agents: Vec<String>,
    pub keys: Vec<String>,
    pub spawned_by: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct After {
    pub updated_at: i64,
    pub key: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct History {
    pub session_key: String,
    pub before: usize,
    pub skip: usize,
    pub limit: usize,
    pub exclude_roles: Vec<String>,
    pub max_bytes: usize,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Create {
    pub agent_id: String,
    pub label: String,
    pub model: String,
    pub thinking_level: String,
    pub max_active: usize,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Run {
    pub session_key: String,
    pub message: String,
    pub context: String,
    pub source: String,
    pub group: String,
    pub no_tools: bool,
    pub timeout_seconds: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Send {
    pub session_key: String,
    pub text: String,
    pub run_id: String,
    pub at_call: bool,
}

impl Request {
    pub fn parse(namespace: &str, text: &str) -> Result<Self, ParleyError> {
        let malformed = |e: Error| ParleyError::new("invalid_args", e.to_string());
        let mut request: Value = serde_json::from_str(text).map_err(malformed)?;
        if let Some(op) = request.get_mut("op") {
            *op = format!("{namespace}.{}", op.as_str().unwrap_or_default()).into(); // in the form of capabilities
        }
        serde_json::from_value(request).map_err(malformed)
    }
}
