//! Makes the calls of `../fixture.json` in a host, and writes results, runs and deliveries.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Write;
use std::mem;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::{Agent, Host, Known, Setup, Watch};

const FIXTURE: &str = "../fixture.json";

#[derive(Deserialize)]
pub struct Fixture {
    pub config: Value,
    pub sessions: Vec<Known>,
    /// The replies of each agent in order, by agent id.
    pub replies: HashMap<String, VecDeque<Reply>>,
    pub calls: Vec<Call>,
}

#[derive(Deserialize)]
pub struct Reply {
    pub text: String,
    #[serde(default)]
    pub seconds: u64,
}

#[derive(Deserialize)]
pub struct Call {
    pub tool: String,
    pub args: Value,
}

type Lines = Arc<Mutex<Vec<String>>>;

impl Fixture {
    pub fn read() -> Result<Self> {
        let text = fs::read_to_string(FIXTURE).with_context(|| format!("read {FIXTURE}"))?;
        serde_json::from_str(&text).with_context(|| format!("parse {FIXTURE}"))
    }

    /// Starts a host with these sessions and agents. Their runs and deliveries are appended to `events`.
    pub fn host(self, events: &Lines, watch: Watch) -> Result<Host> {
        let agents = self.replies.into_iter();
        let agents = agents.map(|(id, replies)| (id, scripted(replies, events.clone())));
        let events = events.clone();
        Host::start(Setup {
            config: self.config,
            sessions: self.sessions,
            agents: agents.collect(),
            deliver: Box::new(move |route, text, _| {
                events.lock().unwrap().push(if route.allowed {
                    let target = &route.target;
                    let text = text.replace('\n', " | ");
                    format!("delivered to {} {}: {text}", target.channel, target.to)
                } else {
                    format!("not delivered: {}", route.reason)
                });
                Ok(())
            }),
            watch,
        })
    }
}

pub fn demo(out: &mut impl Write, watch: Watch) -> Result<()> {
    let mut fixture = Fixture::read()?;
    let calls = mem::take(&mut fixture.calls);
    let events = Lines::default();
    let host = fixture.host(&events, watch)?;
    for Call { tool, args } in calls {
        let answer = host.call("agent:main:main", &tool, args)?;
        writeln!(out, "{tool}: {}", summarize(&tool, &answer.result))?;
        host.idle();
        for line in events.lock().unwrap().drain(..) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}

fn scripted(replies: VecDeque<Reply>, events: Lines) -> Agent {
    let replies = Mutex::new(replies);
    Arc::new(move |_, task| {
        let reply = replies.lock().unwrap().pop_front();
        let Reply { text, seconds } = reply.context("the script has no further reply")?;
        thread::sleep(Duration::from_secs(seconds));
        let said = text.lines().next().unwrap_or_default();
        let line = format!(
            "run in {}: {} -> {said}",
            task.session_key,
            first(&task.message)
        );
        events.lock().unwrap().push(line);
        Ok(text)
    })
}

fn first(text: &str) -> &str {
    text.split(['.', '\n']).next().unwrap_or_default()
}

/// Summarizes a tool's result in one line.
fn summarize(tool: &str, result: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let each = |values: &Value, line: &dyn Fn(&Value) -> String| {
        let lines: Vec<_> = values.as_array().into_iter().flatten().map(line).collect();
        lines.join(", ")
    };
    match tool {
        "sessions_list" => each(&result["sessions"], &|session| {
            format!("{} ({})", text(&session["key"]), text(&session["kind"]))
        }),
        "sessions_history" => each(&result["messages"], &|message| {
            let content = &message["content"];
            let content = content
                .as_str()
                .map_or_else(|| text(&content[0]["text"]), str::to_string);
            format!("{} \"{content}\"", text(&message["role"]))
        }),
        "sessions_send" => {
            let said = result.get("reply").unwrap_or(&result["error"]);
            format!("{}: {}", text(&result["status"]), text(said))
        }
        _ => format!(
            "{}: {}",
            text(&result["status"]),
            text(&result["childSessionKey"])
        ),
    }
}
