//! The state of a host, which a gateway keeps in its database, and the host functions that read and change it.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::request::Request;
use crate::runs::{Run, Runs};
use crate::step::{Caller, Wait, now};
use crate::store::Store;
use crate::{Imports, Parked, ParleyError, Session, Target, Task};

#[derive(Default)]
pub struct State {
    pub store: Store,
    pub runs: Runs,
    pub flows: HashMap<String, Flow>, // waiting or parked flows
    pub undelivered: Vec<Parked>,
    pub calls: u64,
    pub pending: usize,
    pub turn: Turn,
}

#[derive(Clone, Default)]
pub struct Flow {
    pub id: String,
    pub tool: String,
    pub caller: Caller,
    pub accepted_at: i64,
    pub step: u64,
    pub answered: bool,
    pub wait: Option<Wait>,
    pub parked: Option<Parked>,
}

/// The current step and the effects that it has recorded.
#[derive(Default)]
pub struct Turn {
    pub flow: Flow,
    pub created: Vec<Session>,
    pub effects: Vec<Effect>,
}

pub enum Effect {
    Archive(String),
    Delete(String),
    Run(Task),
    Deliver(Delivery),
}

pub struct Delivery {
    pub id: String,
    pub session_key: String,
    pub target: Option<Target>,
    pub text: String,
}

impl Flow {
    /// The run that an unanswered call of the run `caller` waits for.
    fn awaited_by(&self, caller: &str) -> Option<&str> {
        let waits = !self.answered
            && self.parked.is_none()
            && self.caller.run_id.as_deref() == Some(caller);
        self.wait.as_ref().filter(|_| waits)?.run.as_deref()
    }
}

impl Turn {
    fn id(&self) -> String {
        let effect = self.created.len() + self.effects.len() + 1;
        format!("{}-{}-{effect}", self.flow.id, self.flow.step)
    }
}

/// The host functions. Reads return data; writes are checked and recorded as effects.
impl Imports for State {
    fn answer(&mut self, namespace: &str, request: &str) -> Result<String> {
        let reply = Request::parse(namespace, request).and_then(|request| self.reply(request));
        let reply = reply.map_or_else(|error| json!({"error": error}), |ok| json!({"ok": ok}));
        Ok(reply.to_string())
    }
}

impl State {
    pub fn accept(&mut self, caller: Caller, tool: &str) -> Flow {
        self.calls += 1;
        Flow {
            id: format!("flow-{}", self.calls),
            tool: tool.into(),
            caller,
            accepted_at: now(),
            ..Flow::default()
        }
    }

    fn reply(&mut self, request: Request) -> Result<Value, ParleyError> {
        let caller = &self.turn.flow.caller;
        let id = self.turn.id();
        match request {
            Request::Get { session_key } => Ok(self.store.get(&session_key)),
            Request::Resolve(q) => Ok(self.store.resolve(&q)),
            Request::List(q) => Ok(self.store.list(&q)),
            Request::History(q) => Ok(self.store.history(&q)),
            Request::Create(q) => {
                let active = self.runs.active(&caller.session_key) + self.turn.created.len();
                if q.max_active > 0 && active >= q.max_active {
                    return Err(refusal(
                        "forbidden",
                        "the limit of active children is reached",
                    ));
                }
                let mut session = Session {
                    key: format!("agent:{}:subagent:{id}", q.agent_id),
                    agent_id: q.agent_id,
                    session_id: id,
                    updated_at: now(),
                    ..Session::default()
                };
                session
                    .rest
                    .insert("sandboxed".into(), caller.sandboxed.into());
                for (name, text) in [
                    ("spawnedBy", &caller.session_key),
                    ("label", &q.label),
                    ("modelOverride", &q.model),
                    ("thinkingLevel", &q.thinking_level),
                ] {
                    if !text.is_empty() {
                        session.rest.insert(name.into(), text.clone().into());
                    }
                }
                let reply = json!({"sessionKey": session.key, "sessionId": session.session_id});
                self.turn.created.push(session);
                Ok(reply)
            }
            Request::Archive { session_key } => {
                self.ensure_idle(&session_key)?;
                self.record(Effect::Archive(session_key), json!({}))
            }
            Request::Delete { session_key } => {
                self.ensure_idle(&session_key)?;
                self.record(Effect::Delete(session_key), json!({}))
            }
            Request::Status { run_id } => Ok(json!({"run": self.runs.get(&run_id)})),
            Request::Waits { session_key } => {
                let last = self.runs.last(&session_key);
                let waits = caller
                    .run_id
                    .as_ref()
                    .is_some_and(|id| self.would_block(last, id));
                Ok(json!({"waits": waits}))
            }
            Request::Run(q) => {
                if !self
                    .turn
                    .created
                    .iter()
                    .any(|child| child.key == q.session_key)
                {
                    let receive = &self.store.open(&q.session_key)?.context.receive;
                    if !receive.allowed {
                        return Err(refusal("forbidden", &receive.reason));
                    }
                }
                let source = if q.source.is_empty() {
                    &caller.session_key
                } else {
                    &q.source
                };
                let mut provenance = json!({"kind": "inter_session", "sourceSessionKey": source, "sourceTool": self.turn.flow.tool});
                if let Some(row) = self.store.row(source) {
                    provenance["sourceChannel"] = row.context.channel.clone().into();
                }
                let task = Task {
                    id: id.clone(),
                    session_key: q.session_key,
                    message: q.message,
                    context: q.context,
                    no_tools: q.no_tools,
                    hops: caller.hops + 1,
                    timeout: match q.timeout_seconds {
                        0 => Duration::MAX,
                        seconds => Duration::from_secs(seconds),
                    },
                    provenance,
                    parent: (q.group == "subagent").then(|| caller.session_key.clone()),
                };
                self.record(Effect::Run(task), json!({"runId": id}))
            }
            Request::Send(q) => {
                self.stored(&q.session_key)?;
                let target = q.at_call.then(|| caller.target.clone());
                let delivery = Delivery {
                    id: id.clone(),
                    session_key: q.session_key,
                    target,
                    text: q.text,
                };
                self.record(Effect::Deliver(delivery), json!({"deliveryId": id}))
            }
            Request::Unknown => Err(refusal(
                "unsupported",
                "this host does not support the operation",
            )),
        }
    }

    fn record(&mut self, effect: Effect, reply: Value) -> Result<Value, ParleyError> {
        self.turn.effects.push(effect);
        Ok(reply)
    }

    fn stored(&self, key: &str) -> Result<(), ParleyError> {
        match self.store.row(key) {
            Some(_) => Ok(()),
            None => Err(refusal(
                "not_found",
                &format!("session {key} does not exist"),
            )),
        }
    }

    /// Refuses a session that does not exist or has an active run.
    fn ensure_idle(&self, key: &str) -> Result<(), ParleyError> {
        self.stored(key)?;
        match self.runs.last(key) {
            Some(run) if !run.ended() => Err(refusal(
                "conflict",
                &format!("a run of {key} has not ended"),
            )),
            _ => Ok(()),
        }
    }

    /// A waiting or parked flow, and its wait.
    pub fn waiting(&self, flow: &str) -> Option<(Flow, Wait)> {
        let flow = self.flows.get(flow)?.clone();
        let wait = flow.wait.clone()?;
        Some((flow, wait))
    }

    pub fn ended(&self, run: &Option<String>) -> Option<&Run> {
        self.runs.get(run.as_deref()?).filter(|run| run.ended())
    }

    /// The deadlock check: whether `run` is the run `id`, or waits for it, directly or through other runs.
    fn would_block(&self, run: Option<&Run>, id: &str) -> bool {
        let Some(run) = run.filter(|run| !run.ended()) else {
            return false;
        };
        let awaited = self
            .flows
            .values()
            .filter_map(|flow| flow.awaited_by(&run.id));
        run.id == id
            || run
                .ahead
                .as_deref()
                .into_iter()
                .chain(awaited)
                .any(|next| self.would_block(self.runs.get(next), id))
    }
}

fn refusal(code: &str, message: &str) -> ParleyError {
    ParleyError::new(code, message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Effect, State};
    use crate::{Imports, Session};

    /// Returns the reply to a request.
    fn ask(state: &mut State, namespace: &str, request: Value) -> Value {
        let reply = state.answer(namespace, &request.to_string()).unwrap();
        serde_json::from_str(&reply).unwrap()
    }

    #[test]
    fn no_such_session() {
        for (namespace, request) in [
            ("store", json!({"op": "archive", "sessionKey": "none"})),
            ("store", json!({"op": "delete", "sessionKey": "none"})),
            (
                "deliver",
                json!({"op": "send", "sessionKey": "none", "text": "Hello."}),
            ),
            (
                "agent",
                json!({"op": "run", "sessionKey": "none", "message": "Hello.", "group": "nested"}),
            ),
        ] {
            let mut state = State::default();
            let reply = ask(&mut state, namespace, request.clone());
            assert_eq!(reply["error"]["code"], "not_found", "{request}");
            assert!(state.turn.effects.is_empty(), "{request}");
        }
    }

    #[test]
    fn no_such_source() {
        let mut state = State::default();
        state.turn.flow.tool = "sessions_spawn".into();
        state.turn.flow.caller.session_key = "agent:main:main".into();
        state.turn.created.push(Session {
            key: "agent:ops:subagent:1".into(),
            ..Session::default()
        });
        let request = json!({"op": "run", "sessionKey": "agent:ops:subagent:1", "message": "Hello.", "group": "subagent"});
        let reply = ask(&mut state, "agent", request);
        assert!(reply["ok"]["runId"].is_string(), "{reply}");
        let [Effect::Run(task)] = &state.turn.effects[..] else {
            panic!("the effect is not a run");
        };
        assert_eq!(
            task.provenance,
            json!({"kind": "inter_session", "sourceSessionKey": "agent:main:main", "sourceTool": "sessions_spawn"})
        );
    }
}
