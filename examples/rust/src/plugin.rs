use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context, Result};
use extism::{CompiledPlugin, CurrentPlugin, Function, PTR, PluginBuilder, UserData, Val};

/// The module, seen from the folder of this example.
pub const PARLEY: &str = "../../plugin/wasm/parley.wasm";

const FAMILIES: [&str; 3] = ["store", "agent", "deliver"];

/// What a plugin asks of the one who runs it.
pub trait Host {
    /// Answers a request, JSON text both. The family is `store`, `agent` or `deliver`. An error ends the call of the plugin.
    fn answer(&mut self, family: &str, request: &str) -> Result<String>;
}

/// One instance of a module, and the host that answers it. It can be sent to another thread, and takes one call at a time.
pub struct Plugin<H> {
    compiled: CompiledPlugin,
    instance: extism::Plugin,
    host: Arc<Mutex<H>>,
}

impl<H: Host + 'static> Plugin<H> {
    pub fn load(path: impl AsRef<Path>, host: H) -> Result<Self> {
        let path = path.as_ref();
        let wasm = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        let host = Arc::new(Mutex::new(host));
        let compiled = PluginBuilder::new(wasm)
            .with_functions(FAMILIES.map(|family| host_function(family, &host)))
            .compile()?;
        let instance = extism::Plugin::new_from_compiled(&compiled)?;
        Ok(Plugin {
            compiled,
            instance,
            host,
        })
    }

    /// Calls an export with JSON text. After an error the instance may be in the middle of something: [`Plugin::renew`] it.
    pub fn call(&mut self, export: &str, input: &str) -> Result<String> {
        self.instance.call(export, input)
    }

    /// Puts a new instance in the place of this one. The module is not compiled again.
    pub fn renew(&mut self) -> Result<()> {
        self.instance = extism::Plugin::new_from_compiled(&self.compiled)?;
        Ok(())
    }

    /// The host, between two calls.
    pub fn host(&self) -> MutexGuard<'_, H> {
        self.host.lock().expect("the host has panicked")
    }
}

fn host_function<H: Host + 'static>(family: &'static str, host: &Arc<Mutex<H>>) -> Function {
    let answer = move |plugin: &mut CurrentPlugin,
                       arguments: &[Val],
                       results: &mut [Val],
                       host: UserData<H>| {
        let request: String = plugin.memory_get_val(&arguments[0])?;
        let host = host.get()?;
        let reply = host
            .lock()
            .expect("the host has panicked")
            .answer(family, &request)?;
        plugin.memory_set_val(&mut results[0], reply)
    };
    Function::new(family, [PTR], [PTR], UserData::Rust(host.clone()), answer)
}

/// The SDK and the runtime below it, as this program was built with them.
pub fn versions() -> String {
    // The SDK's own text ends with a zero byte, for C.
    let sdk = extism::extism_version().trim_end_matches('\0');
    // Wasmtime does not say its version; the lock file does.
    let runtime = include_str!("../Cargo.lock")
        .split_once("name = \"wasmtime\"\nversion = \"")
        .and_then(|(_, rest)| rest.split('"').next())
        .expect("wasmtime stands in Cargo.lock");
    format!("extism {sdk}, wasmtime {runtime}")
}
