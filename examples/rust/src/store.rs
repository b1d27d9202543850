//! Sessions in memory, and the reading host functions: section 4 of `abi/README.md`.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::ParleyError;
use crate::request::{History, List, Resolve, Scope};
use crate::step::{Caller, now};

/// A stored session. `rest` has the members that this host does not use.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub key: String,
    pub agent_id: String,
    pub session_id: String,
    pub updated_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<i64>,
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The answer of `derive` for a session. It changes only with the session and the settings, so it is stored with the session.
#[derive(Clone, Deserialize)]
pub struct SessionContext {
    pub kind: String,
    pub hidden: bool,
    pub channel: String,
    pub receive: Receive,
    pub deliver: Route,
    pub caller: Caller,
}

#[derive(Clone, Deserialize)]
pub struct Receive {
    pub allowed: bool,
    #[serde(default)]
    pub reason: String,
}

/// The destination of a session's texts, and whether the send policy allows the delivery.
#[derive(Clone, Deserialize)]
pub struct Route {
    pub allowed: bool,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub target: Target,
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Target {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub channel: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub to: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub account_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub thread_id: String,
}

/// A session and its transcript, as input of a host.
#[derive(Clone, Deserialize)]
pub struct Known {
    pub session: Session,
    pub messages: Vec<Value>,
}

pub struct Row {
    pub session: Session,
    pub context: SessionContext,
    pub messages: Vec<Value>,
}

#[derive(Default)]
pub struct Store {
    rows: HashMap<String, Row>,
}

impl Store {
    pub fn put(&mut self, session: Session, context: SessionContext, messages: Vec<Value>) {
        let key = session.key.clone();
        let row = Row {
            session,
            context,
            messages,
        };
        self.rows.insert(key, row);
    }

    pub fn row(&self, key: &str) -> Option<&Row> {
        self.rows.get(key)
    }

    pub fn row_mut(&mut self, key: &str) -> Option<&mut Row> {
        self.rows.get_mut(key)
    }

    pub fn delete(&mut self, key: &str) {
        self.rows.remove(key);
    }

    /// Returns a session that exists and is not archived.
    pub fn open(&mut self, key: &str) -> Result<&mut Row, ParleyError> {
        let row = self
            .row_mut(key)
            .filter(|row| row.session.archived_at.is_none());
        row.ok_or_else(|| {
            ParleyError::new(
                "not_found",
                format!("session {key} does not exist, or is archived"),
            )
        })
    }

    pub fn get(&self, key: &str) -> Value {
        json!({"session": self.row(key).map(|row| &row.session)})
    }

    pub fn resolve(&self, q: &Resolve) -> Value {
        let rows = self.visible(&q.scope);
        let found = rows
            .iter()
            .find(|row| row.session.session_id == q.session_id);
        json!({"session": found.map(|row| &row.session)})
    }

    pub fn list(&self, q: &List) -> Value {
        let mut rows = self.visible(&q.scope);
        rows.retain(|row| row.meets(q));
        let page: Vec<_> = rows.iter().take(q.limit).map(|row| row.shown(q)).collect();
        json!({"rows": page, "more": rows.len() > q.limit})
    }

    pub fn history(&self, q: &History) -> Value {
        let mut messages = self
            .row(&q.session_key)
            .map_or(vec![], |row| row.newest(&q.exclude_roles));
        messages.retain(|message| q.before == 0 || message["seq"].as_u64() < Some(q.before as u64));
        let page: Vec<_> = messages.iter().skip(q.skip).take(q.limit).collect();
        json!({"messages": page, "more": messages.len() > q.skip + q.limit})
    }

    /// The sessions within a scope, in list order.
    fn visible(&self, scope: &Option<Scope>) -> Vec<&Row> {
        let mut rows: Vec<_> = self
            .rows
            .values()
            .filter(|row| {
                !row.context.hidden && scope.as_ref().is_none_or(|s| s.shows(&row.session))
            })
            .collect();
        rows.sort_by(|a, b| order(&a.session, b.session.updated_at, &b.session.key));
        rows
    }
}

impl Row {
    pub fn append(&mut self, role: &str, text: &str, provenance: Option<&Value>) {
        let mut message =
            json!({"role": role, "content": [{"type": "text", "text": text}], "timestamp": now()});
        if let Some(provenance) = provenance {
            message["provenance"] = provenance.clone();
        }
        self.messages.push(message);
        self.session.updated_at = now();
    }

    fn meets(&self, q: &List) -> bool {
        let session = &self.session;
        let search = q.search.to_lowercase();
        let [label, name, subject] = ["label", "displayName", "subject"].map(|m| session.text(m));
        (q.include_archived || session.archived_at.is_none())
            && session.updated_at >= q.active_since
            && (q.kinds.is_empty() || q.kinds.contains(&self.context.kind))
            && (q.agent_id.is_empty() || q.agent_id == session.agent_id)
            && (q.label.is_empty() || q.label == label)
            && [&session.key, label, name, subject]
                .iter()
                .any(|text| text.to_lowercase().contains(&search))
            && q.after
                .as_ref()
                .is_none_or(|after| order(session, after.updated_at, &after.key).is_gt())
    }

    fn shown(&self, q: &List) -> Value {
        let mut shown = json!({"session": self.session});
        if q.messages > 0 {
            let mut messages = self.newest(&["toolResult", "tool"]);
            messages.truncate(q.messages);
            messages.reverse();
            shown["messages"] = messages.into();
        }
        shown
    }

    fn newest<S: AsRef<str>>(&self, exclude: &[S]) -> Vec<Value> {
        let excluded = |m: &Value| exclude.iter().any(|role| m["role"] == role.as_ref());
        let numbered = self.messages.iter().enumerate().rev();
        numbered
            .filter(|(_, message)| !excluded(message))
            .map(|(i, message)| json!({"seq": i + 1, "message": message}))
            .collect()
    }
}

impl Session {
    pub fn text(&self, member: &str) -> &str {
        let text = self.rest.get(member).and_then(Value::as_str);
        text.unwrap_or_default()
    }
}

impl Scope {
    fn shows(&self, session: &Session) -> bool {
        self.keys.contains(&session.key)
            || (!self.spawned_by.is_empty() && self.spawned_by == session.text("spawnedBy"))
            || self.agents.iter().any(|p| like(p, &session.agent_id))
    }
}

/// Orders sessions newest first, then by key.
fn order(a: &Session, updated_at: i64, key: &str) -> Ordering {
    updated_at
        .cmp(&a.updated_at)
        .then_with(|| a.key.as_str().cmp(key))
}

/// Reports whether a text matches a pattern, in which `*` matches any number of characters.
fn like(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            let mut ends = tail.char_indices().map(|(i, _)| i).chain([tail.len()]);
            ends.any(|i| like(rest, &tail[i..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;
    use std::sync::Arc;

    use serde::Deserialize;
    use serde_json::{Map, Value, json};

    use super::{Known, like};
    use crate::{Host, Imports, Setup};

    /// `../store.json`.
    #[derive(Deserialize)]
    struct Cases {
        config: Value,
        sessions: Vec<Known>,
        cases: Vec<Case>,
    }

    /// A request and its expected reply.
    #[derive(Deserialize)]
    struct Case {
        name: String,
        request: Value,
        #[serde(flatten)]
        wanted: Map<String, Value>,
    }

    /// Extracts from a reply the keys of rows, the numbers of messages, and the key of the session.
    fn summarize(reply: &Value) -> Map<String, Value> {
        let each = |values: &Value, what: &str| {
            let values = values.as_array().unwrap().iter();
            values.map(|v| v.pointer(what).unwrap().clone()).collect()
        };
        let mut brief = Map::new();
        for (name, value) in reply["ok"].as_object().unwrap() {
            let (name, value) = match name.as_str() {
                "rows" => {
                    if let Some(messages) = value.pointer("/0/messages") {
                        brief.insert("seqs".into(), each(messages, "/seq"));
                    }
                    ("rows", each(value, "/session/key"))
                }
                "messages" => ("seqs", each(value, "/seq")),
                "session" => ("session", value.get("key").cloned().unwrap_or_default()),
                name => (name, value.clone()),
            };
            brief.insert(name.into(), value);
        }
        brief
    }

    #[test]
    fn replies() {
        let text = fs::read_to_string("../store.json").unwrap();
        let cases: Cases = serde_json::from_str(&text).unwrap();
        let host = Host::start(Setup {
            config: cases.config,
            sessions: cases.sessions,
            agents: HashMap::new(),
            deliver: Box::new(|_, _, _| Ok(())),
            watch: Arc::new(|_, _, _| ()),
        })
        .unwrap();
        assert!(!cases.cases.is_empty());
        for case in cases.cases {
            let request = case.request.to_string();
            let plugin = host.lock();
            let reply = plugin.imports().answer("store", &request).unwrap();
            let reply = serde_json::from_str(&reply).unwrap();
            assert_eq!(
                json!(summarize(&reply)),
                json!(case.wanted),
                "{}: {reply}",
                case.name
            );
        }
    }

    #[test]
    fn patterns() {
        for (pattern, text, matches) in [
            ("*", "", true),
            ("*", "ops", true),
            ("o*s", "ops", true),
            ("o*s", "op", false),
            ("ops", "ops2", false),
            ("*-*", "a-b", true),
        ] {
            assert_eq!(like(pattern, text), matches, "{pattern} and {text}");
        }
    }
}
