use std::fs;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use boon::{Compiler, Schemas};
use parley_example::demo::{Fixture, demo};
use parley_example::{Agent, Host, Known, ParleyError, Setup, Task, Watch};
use serde_json::{Value, json};

type Messages = Arc<Mutex<Vec<Message>>>;

/// Starts a host with the demo's sessions, in which every agent is this one.
fn host(agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static) -> Host {
    Host::start(setup(agent)).unwrap()
}

/// Returns the parameters of that host.
fn setup(agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static) -> Setup {
    let (fixture, agent): (_, Agent) = (Fixture::read().unwrap(), Arc::new(agent));
    Setup {
        config: fixture.config,
        sessions: fixture.sessions,
        agents: ["main", "ops"].map(|id| (id.into(), agent.clone())).into(),
        deliver: Box::new(|_, _, _| Ok(())),
        watch: Arc::new(|_, _, _| ()),
    }
}

/// Returns a session of the demo with these additional members.
fn known(key: &str, more: Value) -> Known {
    let sessions = Fixture::read().unwrap().sessions;
    let known = sessions.into_iter().find(|known| known.session.key == key);
    let mut known = known.unwrap();
    let more = more.as_object().unwrap().clone();
    known.session.rest.extend(more);
    known
}

fn spawn(host: &Host) -> Value {
    let args = json!({"task": "Look after it.", "agentId": "ops"});
    let answer = host.call("agent:main:main", "sessions_spawn", args);
    answer.unwrap().result
}

fn send(host: &Host, seconds: u64) -> Value {
    let args = json!({"sessionKey": "agent:ops:main", "message": "So?", "timeoutSeconds": seconds});
    let answer = host.call("agent:main:main", "sessions_send", args);
    answer.unwrap().result
}

/// A message between host and plugin, with its name in the schema.
#[derive(Clone)]
struct Message {
    name: String,
    value: Value,
}

/// Records all messages.
fn record(messages: &Messages) -> Watch {
    let (seen, op) = (messages.clone(), Mutex::new(String::new()));
    Arc::new(move |of, part, text| {
        if text.is_empty() {
            return; // describe has no input
        }
        let value: Value = serde_json::from_str(text).unwrap();
        let mut op = op.lock().unwrap(); // the op of the last request, for its reply
        if part == "request" {
            *op = value["op"].as_str().unwrap().into();
        }
        let name = match (of, part) {
            (export, "input") => export.into(),
            ("describe", "output") => "description".into(),
            ("derive", "output") => "facts".into(),
            (_, "output") => "step".into(),
            (namespace, part) => format!("{namespace}.{op}.{part}"),
        };
        seen.lock().unwrap().push(Message { name, value });
    })
}

/// Checks messages against `abi/schema/messages.json`.
struct Schema {
    compiler: Compiler,
    schemas: Schemas,
}

impl Schema {
    const ID: &str = "https://parley-wasm.github.io/abi/1/messages.json";

    fn read() -> Self {
        let text = fs::read_to_string("../../abi/schema/messages.json").unwrap();
        let mut compiler = Compiler::new();
        let schema = serde_json::from_str(&text).unwrap();
        compiler.add_resource(Self::ID, schema).unwrap();
        let schemas = Schemas::new();
        Schema { compiler, schemas }
    }

    fn check(&mut self, Message { name, value }: &Message) -> Result<(), String> {
        let definition = format!("{}#/$defs/{name}", Self::ID);
        let index = self.compiler.compile(&definition, &mut self.schemas);
        let valid = self.schemas.validate(value, index.unwrap());
        valid.map_err(|error| format!("{name} {value}: {error:#}"))
    }
}

#[test]
fn demo_and_its_messages() {
    let (mut out, messages) = (Vec::new(), Messages::default());
    demo(&mut out, record(&messages)).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, fs::read_to_string("../demo.txt").unwrap());

    let mut schema = Schema::read();
    let messages = messages.lock().unwrap();
    for message in &*messages {
        schema.check(message).unwrap();
    }
    for name in [
        "description",
        "call",
        "resume",
        "derive",
        "step",
        "facts",
        "store.get.request",
        "store.list.reply",
        "store.create.reply",
        "agent.run.request",
        "deliver.send.reply",
    ] {
        let mut message = messages
            .iter()
            .find(|message| message.name == name)
            .unwrap_or_else(|| panic!("{name} did not occur"))
            .clone();
        message.value["tampered"] = true.into();
        assert!(schema.check(&message).is_err(), "{name}");
    }
}

#[test]
fn timer_answers() {
    let host = host(|_, _| {
        thread::sleep(Duration::from_secs(60));
        Ok("Late.".into())
    });
    let start = Instant::now();
    assert_eq!(send(&host, 1)["status"], "timeout");
    let taken = start.elapsed();
    assert!(taken >= Duration::from_secs(1), "{taken:?}");
    assert!(taken < Duration::from_secs(30), "{taken:?}");
}

#[test]
fn unknown_tool() {
    let host = host(|_, _| bail!("the agent must not run"));
    let error = host.call("agent:main:main", "no_such_tool", json!({}));
    let error: ParleyError = error.unwrap_err().downcast().unwrap();
    assert_eq!(error.code, "not_found");
    assert!(host.parked().is_empty());
}

/// The first run ends after the second call has started.
#[test]
fn calls_at_once() {
    let (go, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let host = host(move |_, run| {
        if run.id == "flow-1-1-1" {
            wait.lock().unwrap().recv()?;
        }
        Ok(format!("I am {}.", run.id))
    });
    thread::scope(|scope| {
        let one = scope.spawn(|| send(&host, 30));
        let list = scope.spawn(|| host.call("agent:main:main", "sessions_list", json!({})));
        assert_eq!(list.join().unwrap().unwrap().result["count"], 3);
        go.send(()).unwrap();
        assert_eq!(one.join().unwrap()["status"], "ok");
    });
}

#[test]
fn delivery_fails() {
    let mut setup = setup(|_, _| Ok("So it is.".into()));
    setup.deliver = Box::new(|_, _, _| Err(anyhow!("no line").context("post")));
    let host = Host::start(setup).unwrap();
    assert_eq!(send(&host, 30)["status"], "ok");
    host.idle();
    assert_eq!(host.parked()[0].error, "post: no line");
}

#[test]
fn agent_panics() {
    let error = send(&host(|_, _| panic!("as the test wants it")), 30)["error"].to_string();
    assert!(error.contains("the agent has panicked"), "{error}");
}

#[test]
fn run_takes_too_long() {
    let (posted, arrived) = mpsc::channel();
    let mut setup = setup(|_, run| {
        thread::sleep(Duration::from_secs(if run.no_tools { 0 } else { 60 }));
        Ok("It takes long.".into())
    });
    setup.deliver = Box::new(move |_, text, _| Ok(posted.send(text.to_string())?));
    let host = Host::start(setup).unwrap();
    let args = json!({"task": "Take your time.", "agentId": "ops", "runTimeoutSeconds": 1});
    let answer = host
        .call("agent:main:main", "sessions_spawn", args)
        .unwrap();
    assert_eq!(answer.result["status"], "accepted");
    let text = arrived.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(text.starts_with("Status: timeout"), "{text}");
}

/// The report of a child is posted to the caller's destination at the time of the call.
#[test]
fn report_goes_to_the_destination_of_the_call() {
    let (posted, arrived) = mpsc::channel();
    let mut setup = setup(|host, _| {
        let destination = json!({"deliveryContext": {"channel": "discord", "to": "9"}});
        host.put(known("agent:main:main", destination))?;
        Ok("It is well.".into())
    });
    setup.deliver = Box::new(move |route, _, _| Ok(posted.send(json!(route.target))?));
    let host = Host::start(setup).unwrap();
    assert_eq!(spawn(&host)["status"], "accepted");
    let target = arrived.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(target, json!({"channel": "telegram", "to": "7"}));
}

#[test]
fn too_many_children() {
    let (go, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let mut setup = setup(move |_, run| {
        if run.id == "flow-1-1-2" {
            wait.lock().unwrap().recv()?; // blocks the first child
        }
        Ok("ANNOUNCE_SKIP".into())
    });
    setup.config["agents"]["defaults"] = json!({"subagents": {"maxChildrenPerAgent": 1}});
    let host = Host::start(setup).unwrap();
    assert_eq!(spawn(&host)["status"], "accepted");
    assert_eq!(spawn(&host)["status"], "forbidden");
    go.send(()).unwrap();
    let start = Instant::now();
    while spawn(&host)["status"] != "accepted" {
        assert!(start.elapsed() < Duration::from_secs(30));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn session_takes_no_messages() {
    let host = host(|_, _| Ok("ANNOUNCE_SKIP".into()));
    assert_eq!(send(&host, 30)["status"], "ok");
    host.idle();
    let policy = json!({"sendPolicy": "deny"});
    host.put(known("agent:ops:main", policy)).unwrap();
    assert_eq!(send(&host, 30)["status"], "forbidden");
}

#[test]
fn calls_of_a_run() {
    let messages = Messages::default();
    let mut setup = setup(|host, run| {
        if run.id == "flow-1-1-1" {
            host.call_as(run, "sessions_list", json!({}))?;
        }
        Ok("ANNOUNCE_SKIP".into())
    });
    setup.watch = record(&messages);
    let host = Host::start(setup).unwrap();
    assert_eq!(send(&host, 30)["status"], "ok");
    let messages = messages.lock().unwrap().clone();
    let calls = messages.iter().filter(|message| message.name == "call");
    let callers: Vec<_> = calls.map(|call| &call.value["caller"]).collect();
    let [own, of_run] = callers[..] else {
        panic!("{callers:?}");
    };
    assert_eq!((&own["hops"], own.get("runId")), (&json!(0), None));
    assert_eq!(of_run["hops"], 1);
    assert_eq!(of_run["runId"], "flow-1-1-1");
    assert_eq!(of_run["sessionKey"], "agent:ops:main");
}

/// Two agents send to each other: the second send would block, so it does not wait.
#[test]
fn agents_ask_each_other() {
    let (said, heard) = mpsc::channel();
    let host = host(move |host, run| {
        let whom = match run.hops {
            1 => "agent:ops:main",
            2 => "agent:main:main",
            _ => return Ok("ANNOUNCE_SKIP".into()),
        };
        let args = json!({"sessionKey": whom, "message": "And you?", "timeoutSeconds": 30});
        let answer = host.call_as(run, "sessions_send", args)?.result;
        said.send((run.hops, answer["status"].to_string()))?;
        Ok("I asked.".into())
    });
    let args = json!({"sessionKey": "agent:main:main", "message": "So?", "timeoutSeconds": 30});
    let asker = "agent:main:telegram:group:-100";
    let answer = host.call(asker, "sessions_send", args).unwrap();
    assert_eq!(answer.result["status"], "ok");
    let next = || heard.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(next(), (2, r#""accepted""#.into()));
    assert_eq!(next(), (1, r#""ok""#.into()));
}
