use std::process::Command;

#[test]
fn calls() {
    let output = Command::new(env!("CARGO_BIN_EXE_calls"))
        .arg("1000")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("\n1000 calls, "), "{text}");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap().lines().count(),
        10
    );
}
