use std::vec::IntoIter;

use anyhow::{Error, Result};

use crate::recording::Call;
use crate::{Difference, Imports, Plugin, Recording, compare};

/// A host that expects the host calls of one exchange in order, and gives the recorded replies.
#[derive(Default)]
pub struct Recorded {
    pointer: String,
    made: usize,
    calls: IntoIter<Call>,
}

impl Recorded {
    fn next_pointer(&self) -> String {
        format!("{}/calls/{}", self.pointer, self.made)
    }
}

impl Imports for Recorded {
    fn answer(&mut self, namespace: &str, request: &str) -> Result<String> {
        let pointer = self.next_pointer();
        let request = serde_json::from_str(request)?;
        let Some(call) = self.calls.next() else {
            return Ok(compare(&pointer, None, Some(&request)).map(|()| String::new())?);
        };
        compare(
            &format!("{pointer}/family"),
            Some(&call.family),
            Some(&namespace.into()),
        )?;
        compare(
            &format!("{pointer}/request"),
            Some(&call.request),
            Some(&request),
        )?;
        self.made += 1;
        Ok(call.reply.get().into())
    }
}

/// Replays a recording with the plugin.
pub fn replay(plugin: &mut Plugin<Recorded>, recording: Recording) -> Result<(), Difference> {
    for (i, exchange) in recording.exchanges.into_iter().enumerate() {
        let pointer = format!("/exchanges/{i}");
        *plugin.imports() = Recorded {
            pointer: pointer.clone(),
            made: 0,
            calls: exchange.calls.into_iter(),
        };
        let output = plugin
            .call(&exchange.export, exchange.input.get())
            .and_then(|output| Ok(serde_json::from_str(&output)?))
            .map_err(|error| as_difference(error, &pointer))?;
        let mut host = plugin.imports();
        if let Some(call) = host.calls.next() {
            compare(&host.next_pointer(), Some(&call.request), None)?;
        }
        compare(
            &format!("{pointer}/output"),
            Some(&exchange.output),
            Some(&output),
        )?;
    }
    Ok(())
}

/// Returns the difference that the host has reported; any other error, such as a trap, is a missing output.
fn as_difference(error: Error, pointer: &str) -> Difference {
    error.downcast().unwrap_or_else(|error| Difference {
        pointer: format!("{pointer}/output"),
        expected: "an output".into(),
        actual: error.root_cause().to_string(),
    })
}
