use std::vec::IntoIter;

use anyhow::{Error, Result};

use crate::recording::Call;
use crate::{Difference, Imports, Plugin, Recording, compare};

/// A host that expects the calls of one exchange, in their order, and answers with what was recorded.
#[derive(Default)]
pub struct Recorded {
    place: String,
    made: usize,
    calls: IntoIter<Call>,
}

impl Recorded {
    fn next_place(&self) -> String {
        format!("{}/calls/{}", self.place, self.made)
    }
}

impl Imports for Recorded {
    fn answer(&mut self, family: &str, request: &str) -> Result<String> {
        let place = self.next_place();
        let request = serde_json::from_str(request)?;
        let Some(call) = self.calls.next() else {
            return Ok(compare(&place, None, Some(&request)).map(|()| String::new())?);
        };
        compare(
            &format!("{place}/family"),
            Some(&call.family),
            Some(&family.into()),
        )?;
        compare(
            &format!("{place}/request"),
            Some(&call.request),
            Some(&request),
        )?;
        self.made += 1;
        Ok(call.reply.get().into())
    }
}

/// Plays a recording to the plugin.
pub fn replay(plugin: &mut Plugin<Recorded>, recording: Recording) -> Result<(), Difference> {
    for (i, exchange) in recording.exchanges.into_iter().enumerate() {
        let place = format!("/exchanges/{i}");
        *plugin.imports() = Recorded {
            place: place.clone(),
            made: 0,
            calls: exchange.calls.into_iter(),
        };
        let output = plugin
            .call(&exchange.export, exchange.input.get())
            .and_then(|output| Ok(serde_json::from_str(&output)?))
            .map_err(|error| as_difference(error, &place))?;
        let mut host = plugin.imports();
        if let Some(call) = host.calls.next() {
            compare(&host.next_place(), Some(&call.request), None)?;
        }
        compare(
            &format!("{place}/output"),
            Some(&exchange.output),
            Some(&output),
        )?;
    }
    Ok(())
}

/// What the host has found comes back as it was; a trap is no output at all.
fn as_difference(error: Error, place: &str) -> Difference {
    error.downcast().unwrap_or_else(|error| Difference {
        place: format!("{place}/output"),
        expected: "an output".into(),
        actual: error.root_cause().to_string(),
    })
}
