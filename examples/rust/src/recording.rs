use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A recorded ABI conversation between host and module. Inputs and replies stay the text of the file, so that no number changes.
#[derive(Deserialize)]
pub struct Recording {
    pub id: String,
    pub exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
pub struct Exchange {
    pub export: String,
    pub input: Box<RawValue>,
    pub calls: Vec<Call>,
    pub output: Value,
}

#[derive(Deserialize)]
pub struct Call {
    pub family: Value,
    pub request: Value,
    pub reply: Box<RawValue>,
}

/// All recordings below a directory, in the order of their files.
pub fn recordings(dir: &Path) -> Result<Vec<Recording>> {
    let mut all = Vec::new();
    for path in files(dir)? {
        all.extend(read(&path)?);
    }
    Ok(all)
}

fn read(path: &Path) -> Result<Vec<Recording>> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("parse {}", path.display()))
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|e| e == "json") && !path.ends_with("index.json") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
