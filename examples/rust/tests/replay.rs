use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use serde_json::value::RawValue;

const SECTION: &str = include_str!("../../../testdata/recordings/S5.4.json");

/// A recording with one exchange of three calls.
fn good() -> &'static str {
    let section: Vec<&RawValue> = serde_json::from_str(SECTION).unwrap();
    let mut texts = section.into_iter().map(RawValue::get);
    texts
        .find(|text| text.contains(r#""id": "S5.4/allowed","#))
        .unwrap()
}

/// Runs `replay` on a new directory with these files. Returns whether it succeeded, and its output after the versions.
fn replay(name: &str, files: &[&str]) -> (bool, String) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    fs::create_dir_all(&dir).unwrap();
    for (i, file) in files.iter().enumerate() {
        fs::write(dir.join(format!("{i}.json")), file).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_replay"))
        .arg(&dir)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (versions, rest) = text.split_once('\n').unwrap();
    assert_eq!(versions, parley_example::versions());
    (output.status.success(), rest.into())
}

/// Replays a file with a changed recording and the good one. The first must fail with the text `says`, the second must pass.
fn fails(name: &str, change: impl FnOnce(&mut Value), says: &str) {
    let mut recording: Value = serde_json::from_str(good()).unwrap();
    change(&mut recording["exchanges"][0]);
    let (success, text) = replay(name, &[&format!("[{recording},{}]", good())]);
    assert!(!success, "{text}");
    assert!(text.starts_with(&format!("S5.4/allowed: {says}")), "{text}");
    assert!(text.ends_with("\n1 passed, 1 failed\n"), "{text}");
}

#[test]
fn two_files() {
    let file = format!("[{}]", good());
    assert_eq!(
        replay("two-files", &[&file, &file]),
        (true, "2 passed, 0 failed\n".into())
    );
}

#[test]
fn none() {
    assert_eq!(replay("none", &[]), (false, "0 passed, 0 failed\n".into()));
}

#[test]
fn request() {
    fails(
        "request",
        |exchange| exchange["calls"][0]["request"]["sessionKey"] = "other".into(),
        r#"/exchanges/0/calls/0/request/sessionKey: expected "other", got "agent:main:main""#,
    );
}

#[test]
fn namespace() {
    fails(
        "family",
        |exchange| exchange["calls"][2]["family"] = "deliver".into(),
        r#"/exchanges/0/calls/2/family: expected "deliver", got "agent""#,
    );
}

#[test]
fn output() {
    fails(
        "output",
        |exchange| exchange["output"]["more"] = 1.into(),
        "/exchanges/0/output/more: expected 1, got nothing",
    );
}

#[test]
fn one_call_less() {
    fails(
        "one-call-less",
        |exchange| drop(exchange["calls"].as_array_mut().unwrap().pop()),
        r#"/exchanges/0/calls/2: expected nothing, got {"#,
    );
}

#[test]
fn one_call_more() {
    fails(
        "one-call-more",
        |exchange| {
            let calls = exchange["calls"].as_array_mut().unwrap();
            calls.push(calls[0].clone());
        },
        r#"/exchanges/0/calls/3: expected {"op":"get","sessionKey":"agent:main:main"}, got nothing"#,
    );
}
