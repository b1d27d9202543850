//! A host of Parley: the loop of section 6 in `abi/README.md`.

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
use crate::store::Facts;
use crate::{Known, PARLEY, Plugin, Route, StepResult, Target, Task, Watch};

/// Answers a run. It may call tools of the host as that run.
pub type Agent = Arc<dyn Fn(&Host, &Task) -> Result<String> + Send + Sync>;

/// Posts a text. Equal ids are one delivery.
pub type Deliver = Box<dyn Fn(&Route, &str, &str) -> Result<()> + Send + Sync>;

/// What a host needs to start.
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

/// A flow or a delivery that an error has stopped.
#[derive(Clone, Debug)]
pub struct Parked {
    pub id: String,
    pub error: String,
}

impl Parked {
    /// With the causes of the error: of a trap the first line is only where it was.
    fn new(id: &str, error: &Error) -> Self {
        let (id, error) = (id.into(), format!("{error:#}"));
        Parked { id, error }
    }
}

/// May be used from any thread; all clones are the same host. What is under way ends with the process.
#[derive(Clone)]
pub struct Host(Arc<Shared>);

struct Shared {
    /// The plugin takes one call at a time, and what a step has relied on must not change until it is committed: one lock for both, with the
    /// state in the plugin's imports. Agents and deliveries run outside of it.
    plugin: Mutex<Plugin<State>>,
    /// A thread has come to its end, with what others may wait for.
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

/// What `derive` is asked about. A stored session may have members that came later: a plugin refuses those here.
fn known(mut session: Value) -> Value {
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
            "the module speaks ABI version {abi}, this host version 1"
        );
        for known in setup.sessions {
            host.put(known)?;
        }
        Ok(host)
    }

    /// Puts a session into the store, with its transcript: a new one, or in the place of the one with its key.
    pub fn put(&self, known: Known) -> Result<()> {
        let Known { session, messages } = known;
        let mut plugin = self.lock();
        let facts = self.facts(&mut plugin, json!(session), None)?;
        plugin.imports().store.put(session, facts, messages);
        Ok(())
    }

    /// Calls a tool as a session. The flow goes on behind the answer.
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

    /// The plugin's description, the tools in it.
    pub fn describe(&self) -> Result<Value> {
        let description = self.lock().call("describe", "")?;
        Ok(serde_json::from_str(&description)?)
    }

    /// What an error has stopped.
    pub fn parked(&self) -> Vec<Parked> {
        let plugin = self.lock();
        let state = plugin.imports();
        let flows = state.flows.values().filter_map(|flow| flow.parked.as_ref());
        flows.chain(&state.undelivered).cloned().collect()
    }

    /// Waits until nothing is under way.
    pub fn idle(&self) {
        drop(self.wait_while(|state| state.under_way > 0));
    }

    fn caller(&self, session_key: &str) -> Result<Caller> {
        let plugin = self.lock();
        let state = plugin.imports();
        let row = state.store.row(session_key);
        let row = row.with_context(|| format!("there is no session {session_key}"))?;
        Ok(row.facts.caller.clone())
    }

    /// A flow up to its answer.
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
                    let rest = move |host: &Host| while let Ok(Some(_)) = host.resume(&id) {};
                    self.begin(&mut self.lock().imports(), rest);
                }
                let code = out.code;
                return Ok(Answer { result, code });
            }
            let next = self.resume(&id)?;
            out = next.context("the flow has ended without an answer")?;
        }
    }

    /// The next step of a flow, when it is due; None if the flow is over. An error parks it.
    fn resume(&self, id: &str) -> Result<Option<StepResult>> {
        let plugin = self.lock();
        let Some((_, wait)) = plugin.imports().waiting(id) else {
            return Ok(None);
        };
        // The standard library takes a time that it cannot add to the clock's for none.
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
        // Others had the lock meanwhile: what the step is given is what stands there now.
        let Some((flow, wait)) = plugin.imports().waiting(id) else {
            return Ok(None);
        };
        // The run wins a tie: it is the time only if the run has not ended.
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

    /// One step, and then what it has recorded, before anything that it relied on can change.
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
            let facts = self.facts(plugin, json!(session), None)?;
            children.push((session, facts));
        }

        let mut state = plugin.imports();
        for (session, facts) in children {
            state.store.put(session, facts, vec![]);
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
                self.begin(state, move |host| host.execute(&id));
            }
            Effect::Deliver(delivery) => self.begin(state, move |host| {
                if let Err(error) = host.post(&delivery) {
                    let parked = Parked::new(&delivery.id, &error);
                    host.lock().imports().undelivered.push(parked);
                }
            }),
        }
    }

    /// Asks where a text goes, and whether it may, when it is posted: that may have changed since. Of a session that is gone the key still says
    /// something.
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
        let facts = self.facts(&mut plugin, session, delivery.target.as_ref())?;
        drop(plugin);
        (self.0.deliver)(&facts.deliver, &delivery.text, &delivery.id)
    }

    fn facts(
        &self,
        plugin: &mut Plugin<State>,
        session: Value,
        target: Option<&Target>,
    ) -> Result<Facts> {
        #[derive(Deserialize)]
        struct Derived {
            result: Facts,
        }
        let session = known(session);
        let mut question = json!({"abi": 1, "session": session, "config": self.0.config});
        if let Some(target) = target {
            question["target"] = json!(target);
        }
        let Derived { result } = plugin.ask("derive", &question)?;
        Ok(result)
    }

    /// Starts a thread. When it ends, in whatever way, all who wait look again.
    fn begin(&self, state: &mut State, work: impl FnOnce(&Host) + Send + 'static) {
        struct UnderWay(Host);
        impl Drop for UnderWay {
            fn drop(&mut self) {
                self.0.lock().imports().under_way -= 1;
                self.0.0.changed.notify_all();
            }
        }
        state.under_way += 1;
        let under_way = UnderWay(self.clone());
        thread::spawn(move || work(&under_way.0));
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

    use crate::demo::World;
    use crate::state::Delivery;
    use crate::{Agent, Host, Setup, Target, Task};

    pub const OPS: &str = "agent:ops:main";

    /// A host with the demo's sessions, and this agent as `ops`.
    pub fn host(agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static) -> Host {
        Host::start(setup(agent)).unwrap()
    }

    fn setup(agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static) -> Setup {
        let (world, agent): (_, Agent) = (World::read().unwrap(), Arc::new(agent));
        Setup {
            config: world.config,
            sessions: world.sessions,
            agents: [("ops".into(), agent)].into(),
            deliver: Box::new(|_, _, _| Ok(())),
            watch: Arc::new(|_, _, _| ()),
        }
    }

    /// What a message to `ops` is answered, when its run has ended or this time has passed.
    pub fn send(host: &Host, seconds: u64) -> Value {
        let args = json!({"sessionKey": OPS, "message": "So?", "timeoutSeconds": seconds});
        let answer = host.call("agent:main:main", "sessions_send", args);
        answer.unwrap().result
    }

    /// The transcript of `ops`, a copy: a test that fails with the lock held takes the host's threads with it.
    pub fn messages(host: &Host) -> Vec<Value> {
        let plugin = host.lock();
        let state = plugin.imports();
        let row = state.store.row(OPS);
        row.map_or(vec![], |row| row.messages.clone())
    }

    /// The agent spoils the state of the flow that waits for its run. The next step comes when that has ended, and must see it, though the wait has
    /// begun before.
    #[test]
    fn later_step_fails() {
        let host = host(|host, _| {
            thread::sleep(Duration::from_millis(50)); // until the wait has begun; right without, too
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
