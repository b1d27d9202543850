//! The memory of this process.

use std::fs;

use anyhow::{Context, Result};

/// The resident set in MiB, read from `/proc`: Linux only.
pub fn resident() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let kib: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"))
        .context("/proc/self/status has no VmRSS")?
        .trim()
        .parse()?;
    Ok(kib / 1024.0)
}
