//! Replays recorded transcripts with the module: `replay [DIR]`.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use parley_example::{PARLEY, Plugin, Recorded, Transcript, replay, transcripts, versions};

fn main() -> Result<ExitCode> {
    println!("{}", versions());
    let dir = env::args_os()
        .nth(1)
        .map_or("../../testdata/transcripts".into(), PathBuf::from);
    let mut plugin = Plugin::load(PARLEY, Recorded::default())?;
    let (mut passed, mut failed) = (0, 0);
    for path in transcripts(&dir)? {
        let transcript = Transcript::read(&path)?;
        let id = transcript.id.clone();
        match replay(&mut plugin, transcript) {
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
