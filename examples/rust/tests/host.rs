use std::fs;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use boon::{Compiler, Schemas};
use parley_example::demo::{World, demo};
use parley_example::{Agent, Host, ParleyError, Setup, Task};
use serde_json::{Value, json};

/// A host with the demo's sessions, in which all are this agent.
fn host(agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static) -> Host {
    posting(agent, |_| Ok(()))
}

/// The same, with what it does with texts that leave.
fn posting(
    agent: impl Fn(&Host, &Task) -> Result<String> + Send + Sync + 'static,
    post: impl Fn(&str) -> Result<()> + Send + Sync + 'static,
) -> Host {
    let (world, agent): (_, Agent) = (World::read().unwrap(), Arc::new(agent));
    Host::start(Setup {
        config: world.config,
        sessions: world.sessions,
        agents: ["main", "ops"].map(|id| (id.into(), agent.clone())).into(),
        deliver: Box::new(move |_, text, _| post(text)),
        watch: Arc::new(|_, _, _| ()),
    })
    .unwrap()
}

fn send(host: &Host, seconds: u64) -> Value {
    let args = json!({"sessionKey": "agent:ops:main", "message": "So?", "timeoutSeconds": seconds});
    let answer = host.call("agent:main:main", "sessions_send", args);
    answer.unwrap().result
}

/// A message that crossed the boundary, by its name in the schema.
#[derive(Clone)]
struct Message {
    name: String,
    value: Value,
}

/// Runs the demo: what it wrote, and all messages.
fn record() -> (String, Vec<Message>) {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let (seen, op) = (messages.clone(), Mutex::new(String::new()));
    let watch = move |of: &str, part: &str, text: &str| {
        if text.is_empty() {
            return; // what describe is given
        }
        let value: Value = serde_json::from_str(text).unwrap();
        let mut op = op.lock().unwrap(); // of the last request, for its reply
        if part == "request" {
            *op = value["op"].as_str().unwrap().into();
        }
        let name = match (of, part) {
            (export, "input") => export.into(),
            ("describe", "output") => "description".into(),
            ("derive", "output") => "facts".into(),
            (_, "output") => "step".into(),
            (family, part) => format!("{family}.{op}.{part}"),
        };
        seen.lock().unwrap().push(Message { name, value });
    };
    let mut out = Vec::new();
    demo(&mut out, Arc::new(watch)).unwrap();
    let messages = messages.lock().unwrap().clone();
    (String::from_utf8(out).unwrap(), messages)
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
    let (text, messages) = record();
    assert_eq!(text, fs::read_to_string("../demo.txt").unwrap());

    let mut schema = Schema::read();
    for message in &messages {
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
            .unwrap_or_else(|| panic!("no {name}"))
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
    let host = host(|_, _| bail!("nobody asks"));
    let error = host.call("agent:main:main", "no_such_tool", json!({}));
    let error: ParleyError = error.unwrap_err().downcast().unwrap();
    assert_eq!(error.code, "not_found");
    assert!(host.parked().is_empty());
}

/// The first run ends after the second call has been made.
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
    let host = posting(|_, _| Ok("So it is.".into()), |_| bail!("no line"));
    assert_eq!(send(&host, 30)["status"], "ok");
    host.idle();
    assert_eq!(host.parked()[0].error, "no line");
}

#[test]
fn agent_panics() {
    let error = send(&host(|_, _| panic!("as the test wants it")), 30)["error"].to_string();
    assert!(error.contains("the agent has panicked"), "{error}");
}

#[test]
fn run_takes_too_long() {
    let (posted, arrived) = mpsc::channel();
    let host = posting(
        |_, run| {
            thread::sleep(Duration::from_secs(if run.no_tools { 0 } else { 60 }));
            Ok("It takes long.".into())
        },
        move |text| Ok(posted.send(text.to_string())?),
    );
    let args = json!({"task": "Take your time.", "agentId": "ops", "runTimeoutSeconds": 1});
    let answer = host
        .call("agent:main:main", "sessions_spawn", args)
        .unwrap();
    assert_eq!(answer.result["status"], "accepted");
    let text = arrived.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(text.starts_with("Status: timeout"), "{text}");
}

/// A run in a session waits for one that asks that session in turn: that one is not kept waiting.
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
    assert_eq!(heard.recv().unwrap(), (2, r#""accepted""#.into()));
    assert_eq!(heard.recv().unwrap(), (1, r#""ok""#.into()));
}
