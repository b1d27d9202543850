//! Runs of agents. The runs of one session are serial.

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow};
use serde::Serialize;
use serde_json::Value;

use crate::Host;
use crate::step::now;

/// The task of a run.
#[derive(Clone)]
pub struct Task {
    pub id: String,
    pub session_key: String,
    pub message: String,
    /// Passed to the agent with the message, but not stored in the transcript.
    pub context: String,
    pub no_tools: bool,
    /// The number of flows in the chain that led to this run.
    pub hops: u64,
    pub(crate) timeout: Duration,
    pub(crate) provenance: Value,
    /// The spawning session, for the first run of a child.
    pub(crate) parent: Option<String>,
}

/// A run, serialized as the plugin receives it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    pub id: String,
    status: Status,
    #[serde(flatten)]
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    #[serde(skip)]
    task: Task,
    /// The run before it in its session.
    #[serde(skip)]
    pub ahead: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Queued,
    Running,
    Done,
    Failed,
    Timeout,
}

#[derive(Default, Serialize)]
struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Run {
    pub fn ended(&self) -> bool {
        self.ended_at.is_some()
    }
}

#[derive(Default)]
pub struct Runs {
    runs: HashMap<String, Run>,
    last: HashMap<String, String>, // the last run of each session's queue
}

impl Runs {
    pub fn queue(&mut self, task: Task) {
        let ahead = self.last.insert(task.session_key.clone(), task.id.clone());
        let run = Run {
            id: task.id.clone(),
            status: Status::Queued,
            outcome: Outcome::default(),
            started_at: None,
            ended_at: None,
            task,
            ahead,
        };
        self.runs.insert(run.id.clone(), run);
    }

    pub fn get(&self, id: &str) -> Option<&Run> {
        self.runs.get(id)
    }

    pub fn last(&self, session_key: &str) -> Option<&Run> {
        self.get(self.last.get(session_key)?)
    }

    /// Returns the number of active children of a session.
    pub fn active(&self, parent: &str) -> usize {
        let of = |run: &&Run| !run.ended() && run.task.parent.as_deref() == Some(parent);
        self.runs.values().filter(of).count()
    }

    /// Reports whether the run ahead in its session has ended.
    fn is_next(&self, id: &str) -> bool {
        let ahead = self.runs[id].ahead.as_deref();
        ahead.and_then(|id| self.get(id)).is_none_or(Run::ended)
    }

    fn start(&mut self, id: &str) -> Task {
        let run = self.runs.get_mut(id).expect("the run was queued");
        run.status = Status::Running;
        run.started_at = Some(now());
        run.task.clone()
    }

    fn end(&mut self, id: &str, status: Status, outcome: Outcome) {
        let run = self.runs.get_mut(id).expect("the run was queued");
        run.status = status;
        run.outcome = outcome;
        run.ended_at = Some(now());
    }
}

impl Host {
    /// Waits until a queued run is next in its session, and executes it.
    pub(crate) fn execute(&self, id: &str) {
        let plugin = self.wait_while(|state| !state.runs.is_next(id));
        let mut state = plugin.imports();
        let task = state.runs.start(id);
        let agent_id = state.store.open(&task.session_key).map(|row| {
            row.append("user", &task.message, Some(&task.provenance));
            row.session.agent_id.clone()
        });
        drop(state);
        drop(plugin);

        let answer = agent_id
            .map_err(Error::from)
            .and_then(|agent_id| self.answer(&agent_id, &task));
        let (status, reply, error) = match answer {
            Ok(Some(text)) => (Status::Done, Some(text.trim().into()), None),
            Ok(None) => (Status::Timeout, None, None),
            Err(error) => (Status::Failed, None, Some(error.to_string())),
        };

        let plugin = self.lock();
        let mut state = plugin.imports();
        if let Some(row) = state.store.row_mut(&task.session_key) {
            if let Some(reply) = reply.as_deref().filter(|reply: &&str| !reply.is_empty()) {
                row.append("assistant", reply, None);
            }
            if !task.no_tools {
                let status = serde_json::to_value(status).expect("a status is a text");
                row.session.rest.insert("status".into(), status);
            }
        }
        state.runs.end(id, status, Outcome { reply, error });
    }

    /// Returns the agent's reply, or None if the run has exceeded its time limit; a later reply is ignored.
    fn answer(&self, agent_id: &str, task: &Task) -> Result<Option<String>> {
        let agent = self
            .agent(agent_id)
            .with_context(|| format!("agent {agent_id} does not exist"))?;
        let (host, own) = (self.clone(), task.clone());
        let (answer, answered) = mpsc::channel();
        thread::spawn(move || answer.send(agent(&host, &own)));
        match answered.recv_timeout(task.timeout) {
            Ok(text) => text.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(anyhow!("the agent has panicked")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use super::Status;
    use crate::Host;
    use crate::host::tests::{OPS, host, messages, send};
    use crate::state::State;

    fn outcome(host: &Host, id: &str) -> (Status, Option<String>) {
        let plugin = host.lock();
        let state = plugin.imports();
        let run = state.runs.get(id).unwrap();
        (run.status, run.outcome.error.clone())
    }

    #[test]
    fn empty_reply() {
        let host = host(|_, _| Ok(" \n".into()));
        send(&host, 30);
        host.idle();
        assert_eq!(outcome(&host, "flow-1-1-1"), (Status::Done, None));
        let messages = messages(&host);
        assert!(!messages.is_empty());
        assert!(messages.iter().all(|m| m["role"] == "user"), "{messages:?}");
    }

    /// Changes the session while a run is queued there behind another. The queued run must fail and reach neither the agent nor the transcript.
    fn fails_after(change: impl FnOnce(&mut State)) {
        let (start, started) = mpsc::channel();
        let (go, wait) = mpsc::channel();
        let wait = Mutex::new(wait);
        let host = host(move |_, run| {
            assert_eq!(run.id, "flow-1-1-1");
            start.send(())?;
            Ok(wait.lock().unwrap().recv()?)
        });
        for _ in 0..2 {
            assert_eq!(send(&host, 0)["status"], "accepted");
        }
        started.recv().unwrap();
        change(&mut host.lock().imports());
        go.send(String::new()).unwrap();
        host.idle();
        let (status, error) = outcome(&host, "flow-2-1-1");
        assert_eq!(status, Status::Failed);
        assert!(error.unwrap().starts_with("not_found: "));
        assert!(messages(&host).len() <= 1, "{:?}", messages(&host));
    }

    #[test]
    fn session_is_archived() {
        fails_after(|state| state.store.row_mut(OPS).unwrap().session.archived_at = Some(1));
    }

    #[test]
    fn session_is_deleted() {
        fails_after(|state| state.store.delete(OPS));
    }
}
