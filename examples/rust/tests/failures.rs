use std::process::Command;

#[test]
fn failures() {
    let output = Command::new(env!("CARGO_BIN_EXE_failures"))
        .output()
        .unwrap();
    let expected = r#"
a trap: wasm trap: wasm `unreachable` instruction executed
  a new instance of that module answers
  and the plugin still answers
an error of a host function: the store is down
  a new instance, because the call has ended in the middle
  and the plugin still answers
an unknown tool: ParleyError, code not_found, message this plugin has no tool "no_such_tool"
  and the plugin still answers
a bad argument: a result, {"error":"limit must be a number","status":"error"}, code invalid_args
  and the plugin still answers
"#;
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        parley_example::versions() + expected
    );
    assert!(output.status.success());
}
