//! A host of Parley, as in section 6 of `abi/README.md`.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Error, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::state::{Delivery, Effect, Flow, State, Turn};
use crate::step::{Caller, now};
use crate::store::SessionContext;
use crate::{Known, PARLEY, Plugin, Route, StepResult, Target, Task, Watch};

/// Answers a run. It may call tools of the host as that run.
pub type Agent = Arc<dyn Fn(&Host, &Task) -> Result<String> + Send + Sync>;

/// Posts a text. Equal ids are one delivery.
pub type Deliver = Box<dyn Fn(&Route, &str, &str) -> Result<()> + Send + Sync>;

/// The parameters of a host.
pub struct Setup {
    pub config: Value,
    pub sessions: Vec<Known>,
    /// By the agent's id.
    pub agents: HashMap<String, Agent>,
    pub deliver: Deliver,
    pub watch: Watch,
}

/// A tool's answer: a result, and a code if it is a failure.
#[derive(Debug)]
pub struct Answer {
    pub result: Value,
    pub code: Option<String>,
}

/// A flow or a delivery that has failed.
#[derive(Clone, Debug)]
pub struct Parked {
    pub id: String,
    pub error: String,
}

impl Parked {
    /// Includes the causes of the error: the first line of a trap is only its location.
    fn new(id: &str, error: &Error) -> Self {
        let (id, error) = (id.into(), format!("{error:#}"));
        Parked { id, error }
    }
}

/// A host, which can be used from any thread; clones share it. Flows and deliveries end with the process.
#[derive(Clone)]
pub struct Host(Arc<Shared>);

struct Shared {
    /// The plugin takes one call at a time, and the state that a step has read must not change until the step is committed. One lock guards both; the
    /// state is in the plugin's imports. Agents and deliveries run without the lock.
    plugin: Mutex<Plugin<State>>,
    /// Notified when a thread ends, because other threads may wait for its result.
    changed: Condvar,
    config: Value,
    agents: HashMap<String, Agent>,
    deliver: Deliver,
}

/// The members of a session in version 1 (`abi/README.md`, section 4).
const MEMBERS: [&str; 29] = [
    "key",
    "agentId",
    "kind",
    "sessionId",
    "updatedAt",
    "label",
    "displayName",
    "subject",
    "chatType",
    "channel",
    "deliveryContext",
    "lastChannel",
    "lastTo",
    "lastAccountId",
    "lastThreadId",
    "model",
    "modelOverride",
    "contextTokens",
    "totalTokens",
    "thinkingLevel",
    "verboseLevel",
    "systemSent",
    "abortedLastRun",
    "sendPolicy",
    "spawnedBy",
    "sandboxed",
    "status",
    "archivedAt",
    "transcriptPath",
];

/// Omits the members of later versions from the input of `derive`, which refuses unknown members.
fn without_unknown(mut session: Value) -> Value {
    if let Some(session) = session.as_object_mut() {
        session.retain(|name, _| MEMBERS.contains(&name.as_str()));
    }
    session
}

impl Host {
    pub fn start(setup: Setup) -> Result<Self> {
        let host = Host(Arc::new(Shared {
            plugin: Mutex::new(Plugin::watched(PARLEY, State::default(), setup.watch)?),
            changed: Condvar::new(),
            config: setup.config,
            agents: setup.agents,
            deliver: setup.deliver,
        }));
        let abi = &host.describe()?["abi"];
        ensure!(
            abi == 1,
            "the module implements ABI version {abi}; this host supports version 1"
        );
        for known in setup.sessions {
            host.put(known)?;
        }
        Ok(host)
    }

    /// Stores a session with its transcript, and replaces a session with the same key.
    pub fn put(&self, known: Known) -> Result<()> {
        let Known { session, messages } = known;
        let mut plugin = self.lock();
        let context = self.derive(&mut plugin, json!(session), None)?;
        plugin.imports().store.put(session, context, messages);
        Ok(())
    }

    /// Calls a tool as a session. The flow continues after the answer.
    pub fn call(&self, session_key: &str, tool: &str, args: Value) -> Result<Answer> {
        self.handle(self.caller(session_key)?, tool, args)
    }

    /// Calls a tool as a run.
    pub fn call_as(&self, run: &Task, tool: &str, args: Value) -> Result<Answer> {
        let mut caller = self.caller(&run.session_key)?;
        caller.run_id = Some(run.id.clone());
        caller.hops = run.hops;
        self.handle(caller, tool, args)
    }

    /// Returns the plugin's description, which includes its tools.
    pub fn describe(&self) -> Result<Value> {
        let description = self.lock().call("describe", "")?;
        Ok(serde_json::from_str(&description)?)
    }

    /// Returns the flows and deliveries that have failed.
    pub fn parked(&self) -> Vec<Parked> {
        let plugin = self.lock();
        let state = plugin.imports();
        let flows = state.flows.values().filter_map(|flow| flow.parked.as_ref());
        flows.chain(&state.undelivered).cloned().collect()
    }

    /// Waits until all flows, runs and deliveries have ended.
    pub fn idle(&self) {
        drop(self.wait_while(|state| state.pending > 0));
    }

    fn caller(&self, session_key: &str) -> Result<Caller> {
        let plugin = self.lock();
        let state = plugin.imports();
        let row = state.store.row(session_key);
        let row = row.with_context(|| format!("session {session_key} does not exist"))?;
        Ok(row.context.caller.clone())
    }

    /// Executes a flow up to its answer.
    fn handle(&self, caller: Caller, tool: &str, args: Value) -> Result<Answer> {
        let mut plugin = self.lock();
        let flow = plugin.imports().accept(caller, tool);
        let id = flow.id.clone();
        let input = json!({"callId": id, "tool": tool, "args": args});
        let mut out = self.step(&mut plugin, flow, "call", input)?;
        drop(plugin);
        loop {
            if let Some(result) = out.result {
                if out.wait.is_some() {
                    let remaining = move |host: &Host| while let Ok(Some(_)) = host.resume(&id) {};
                    self.spawn(&mut self.lock().imports(), remaining);
                }
                let code = out.code;
                return Ok(Answer { result, code });
            }
            let next = self.resume(&id)?;
            out = next.context("the flow has ended without an answer")?;
        }
    }

    /// Waits until a flow is due and executes its next step; None if the flow has ended. An error parks the flow.
    fn resume(&self, id: &str) -> Result<Option<StepResult>> {
        let plugin = self.lock();
        let Some((_, wait)) = plugin.imports().waiting(id) else {
            return Ok(None);
        };
        // The standard library treats a timeout that overflows the clock as no timeout.
        let left = wait.until.map_or(Duration::MAX, |until| {
            Duration::from_millis((until - now()).max(0) as u64)
        });
        let (mut plugin, _) = self
            .0
            .changed
            .wait_timeout_while(plugin, left, |plugin| {
                plugin.imports().ended(&wait.run).is_none()
            })
            .expect("the host has panicked");
        // Other threads had the lock meanwhile, so the flow is read again.
        let Some((flow, wait)) = plugin.imports().waiting(id) else {
            return Ok(None);
        };
        // If both are due, the run wins.
        let event = match plugin.imports().ended(&wait.run) {
            Some(run) => json!({"type": "run", "at": now(), "run": run}),
            None => json!({"type": "time", "at": now()}),
        };
        let input =
            json!({"state": wait.state, "stateVersion": wait.state_version, "event": event});
        let out = self.step(&mut plugin, flow, "resume", input);
        if let (Err(error), Some(flow)) = (&out, plugin.imports().flows.get_mut(id)) {
            flow.parked = Some(Parked::new(id, error));
        }
        out.map(Some)
    }

    /// Executes one step and commits its effects, before the state that it has read can change.
    fn step(
        &self,
        plugin: &mut Plugin<State>,
        mut flow: Flow,
        export: &str,
        mut input: Value,
    ) -> Result<StepResult> {
        flow.step += 1;
        input["abi"] = 1.into();
        input["flowId"] = flow.id.clone().into();
        input["step"] = flow.step.into();
        input["now"] = now().into();
        input["acceptedAt"] = flow.accepted_at.into();
        input["caller"] = json!(flow.caller);
        input["config"] = self.0.config.clone();
        plugin.imports().turn = Turn {
            flow: flow.clone(),
            ..Turn::default()
        };
        let out: StepResult = plugin.ask(export, &input)?;
        let turn = mem::take(&mut plugin.imports().turn);
        let mut children = Vec::new();
        for session in turn.created {
            let context = self.derive(plugin, json!(session), None)?;
            children.push((session, context));
        }

        let mut state = plugin.imports();
        for (session, context) in children {
            state.store.put(session, context, vec![]);
        }
        for effect in turn.effects {
            self.commit(&mut state, effect);
        }
        flow.answered |= out.result.is_some();
        flow.wait = out.wait.clone();
        if flow.wait.is_some() {
            state.flows.insert(flow.id.clone(), flow);
        } else {
            state.flows.remove(&flow.id);
        }
        Ok(out)
    }

    fn commit(&self, state: &mut State, effect: Effect) {
        match effect {
            Effect::Archive(key) => {
                if let Some(row) = state.store.row_mut(&key) {
                    row.session.archived_at.get_or_insert_with(now);
                }
            }
            Effect::Delete(key) => state.store.delete(&key),
            Effect::Run(task) => {
                let id = task.id.clone();
                state.runs.queue(task);
                self.spawn(state, move |host| host.execute(&id));
            }
            Effect::Deliver(delivery) => self.spawn(state, move |host| {
                if let Err(error) = host.post(&delivery) {
                    let parked = Parked::new(&delivery.id, &error);
                    host.lock().imports().undelivered.push(parked);
                }
            }),
        }
    }

    /// Posts a text. Destination and send policy are determined now, because they may have changed since the step. For a deleted session they follow
    /// from its key.
    fn post(&self, delivery: &Delivery) -> Result<()> {
        let mut plugin = self.lock();
        let session = plugin
            .imports()
            .store
            .row(&delivery.session_key)
            .map_or_else(
                || json!({"key": delivery.session_key}),
                |row| json!(row.session),
            );
        let context = self.derive(&mut plugin, session, delivery.target.as_ref())?;
        drop(plugin);
        (self.0.deliver)(&context.deliver, &delivery.text, &delivery.id)
    }

    fn derive(
        &self,
        plugin: &mut Plugin<State>,
        session: Value,
        target: Option<&Target>,
    ) -> Result<SessionContext> {
        #[derive(Deserialize)]
        struct Derived {
            result: SessionContext,
        }
        let session = without_unknown(session);
        let mut request = json!({"abi": 1, "session": session, "config": self.0.config});
        if let Some(target) = target {
            request["target"] = json!(target);
        }
        let Derived { result } = plugin.ask("derive", &request)?;
        Ok(result)
    }

    /// Starts a thread. When it ends, even by a panic, all waiting threads check their conditions again.
    fn spawn(&self, state: &mut State, work: impl FnOnce(&Host) + Send + 'static) {
        struct Pending(Host);
        impl Drop for Pending {
            fn drop(&mut self) {
                self.0.lock().imports().pending -= 1;
                self.0.0.changed.notify_all();
            }
        }
        state.pending += 1;
        let pending = Pending(self.clone());
        thread::spawn(move || work(&pending.0));
    }

    pub(crate) fn agent(&self, id: &str) -> Option<Agent> {
        self.0.agents.get(id).cloned()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Plugin<State>> {
        self.0.plugin.lock().expect("the host has panicked")
    }

    pub(crate) fn wait_while(
        &self,
        condition: impl Fn(&State) -> bool,
    ) -> MutexGuard<'_, Plugin<State>> {
        self.0
            .changed
            .wait_while(self.lock(), |plugin| condition(&plugin.imports()))
            .expect("the host has panicked")
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    use anyhow::Result;
    use serde_json::{Value, json};

    use crate::demo::Fixture;
    use crate::state::Delivery;
    use crate::{Agent, Host, Setup, Target, Task};

    pub const OPS: &str = "agent:ops:main";

    /// Starts a host with the demo's sessions, and this agent as `ops`.
    pub fn host(agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static) -> Host {
        Host::start(setup(agent)).unwrap()
    }

    fn setup(agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static) -> Setup {
        let (fixture, agent): (_, Agent) = (Fixture::read().unwrap(), Arc::new(agent));
        Setup {
            config: fixture.config,
            sessions: fixture.sessions,
            agents: [("ops".into(), agent)].into(),
            deliver: Box::new(|_, _, _| Ok(())),
            watch: Arc::new(|_, _, _| ()),
        }
    }

    /// Sends a message to `ops` with this timeout, and returns the answer.
    pub fn send(host: &Host, seconds: u64) -> Value {
        let args = json!({"sessionKey": OPS, "message": "So?", "timeoutSeconds": seconds});
        let answer = host.call("agent:main:main", "sessions_send", args);
        answer.unwrap().result
    }

    /// Returns a copy of the transcript of `ops`: a test must not fail while it holds the lock.
    pub fn messages(host: &Host) -> Vec<Value> {
        let plugin = host.lock();
        let state = plugin.imports();
        let row = state.store.row(OPS);
        row.map_or(vec![], |row| row.messages.clone())
    }

    /// The agent corrupts the state of the flow that waits for its run. The next step must read that state, although the wait started before.
    #[test]
    fn later_step_fails() {
        let host = host(|host, _| {
            thread::sleep(Duration::from_millis(50)); // likely until the wait has started; the test passes without it too
            for flow in host.lock().imports().flows.values_mut() {
                flow.wait.as_mut().unwrap().state_version = 99;
            }
            Ok("So it is.".into())
        });
        assert_eq!(send(&host, 0)["status"], "accepted");
        host.idle();
        let parked = host.parked();
        assert_eq!(parked[0].id, "flow-1");
        assert!(parked[0].error.starts_with("unsupported: "), "{parked:?}");
    }

    #[test]
    fn provenance() {
        let host = host(|_, _| Ok("ANNOUNCE_SKIP".into()));
        send(&host, 30);
        let message = &messages(&host)[0];
        assert_eq!(message["role"], "user");
        assert_eq!(
            message["provenance"],
            json!({
                "kind": "inter_session",
                "sourceSessionKey": "agent:main:main",
                "sourceChannel": "telegram",
                "sourceTool": "sessions_send",
            })
        );
    }

    #[test]
    fn posts_for_a_session_that_is_gone() {
        let posted = Arc::new(Mutex::new(vec![]));
        let seen = posted.clone();
        let mut setup = setup(|_, _| unreachable!());
        setup.deliver = Box::new(move |route, text, id| {
            let route = (route.allowed, json!(route.target));
            seen.lock().unwrap().push((route, format!("{id}: {text}")));
            Ok(())
        });
        let host = Host::start(setup).unwrap();
        let target = Target {
            channel: "telegram".into(),
            to: "7".into(),
            ..Target::default()
        };
        let delivery = Delivery {
            id: "d1".into(),
            session_key: "agent:main:gone".into(),
            target: Some(target),
            text: "So it is.".into(),
        };
        host.post(&delivery).unwrap();
        let route = (true, json!({"channel": "telegram", "to": "7"}));
        assert_eq!(*posted.lock().unwrap(), [(route, "d1: So it is.".into())]);
    }
}
