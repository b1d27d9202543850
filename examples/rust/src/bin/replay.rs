//! Replays recordings with the module: `replay [DIR]`.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use parley_example::{PARLEY, Plugin, Recorded, recordings, replay, versions};

fn main() -> Result<ExitCode> {
    println!("{}", versions());
    let dir = env::args_os()
        .nth(1)
        .map_or("../../testdata/recordings".into(), PathBuf::from);
    let mut plugin = Plugin::load(PARLEY, Recorded::default())?;
    let (mut passed, mut failed) = (0, 0);
    for recording in recordings(&dir)? {
        let id = recording.id.clone();
        match replay(&mut plugin, recording) {
            Ok(()) => passed += 1,
            Err(difference) => {
                println!("{id}: {difference}");
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(if passed > 0 && failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
