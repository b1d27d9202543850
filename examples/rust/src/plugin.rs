use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context, Result};
use extism::{CompiledPlugin, CurrentPlugin, Function, PTR, PluginBuilder, UserData, Val};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ParleyError;

/// The path of the module, relative to the folder of this example.
pub const PARLEY: &str = "../../plugin/wasm/parley.wasm";

const NAMESPACES: [&str; 3] = ["store", "agent", "deliver"];

/// The host functions of a plugin.
pub trait Imports: Send + 'static {
    /// Answers a request; request and reply are JSON text. The namespace is `store`, `agent` or `deliver`. An error ends the call of the plugin; a
    /// refused request gets a reply.
    fn answer(&mut self, namespace: &str, request: &str) -> Result<String>;
}

/// Receives every message between host and plugin: the export or namespace, the kind of message (`input`, `output`, `request`, `reply`), and the
/// text.
pub type Watch = Arc<dyn Fn(&str, &str, &str) + Send + Sync>;

/// One instance of a module and its imports. It can be sent to another thread, and takes one call at a time.
pub struct Plugin<I> {
    compiled: CompiledPlugin,
    instance: extism::Plugin,
    imports: Arc<Mutex<I>>,
    watch: Watch,
}

impl<I: Imports> Plugin<I> {
    pub fn load(path: impl AsRef<Path>, imports: I) -> Result<Self> {
        Self::watched(path, imports, Arc::new(|_, _, _| ()))
    }

    pub fn watched(path: impl AsRef<Path>, imports: I, watch: Watch) -> Result<Self> {
        let path = path.as_ref();
        let wasm = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        let imports = Arc::new(Mutex::new(imports));
        let compiled = PluginBuilder::new(wasm)
            .with_functions(NAMESPACES.map(|namespace| host_function(namespace, &imports, &watch)))
            .compile()?;
        let instance = extism::Plugin::new_from_compiled(&compiled)?;
        Ok(Plugin {
            compiled,
            instance,
            imports,
            watch,
        })
    }

    /// Calls an export with JSON text. After an error the instance is in an undefined state: a new instance of the compiled module replaces it.
    pub fn call(&mut self, export: &str, input: &str) -> Result<String> {
        (self.watch)(export, "input", input);
        let output: Result<String> = self.instance.call(export, input);
        match &output {
            Ok(output) => (self.watch)(export, "output", output),
            Err(_) => self.instance = extism::Plugin::new_from_compiled(&self.compiled)?,
        }
        output
    }

    /// Calls an export with JSON. An error that the plugin returns becomes a [`ParleyError`].
    pub fn ask<T: DeserializeOwned>(&mut self, export: &str, input: &Value) -> Result<T> {
        #[derive(Deserialize)]
        struct Failed {
            error: Option<ParleyError>,
        }
        let output = self.call(export, &input.to_string())?;
        if let Failed { error: Some(error) } = serde_json::from_str(&output)? {
            return Err(error.into());
        }
        Ok(serde_json::from_str(&output)?)
    }

    /// Locks the imports, for use between two calls.
    pub fn imports(&self) -> MutexGuard<'_, I> {
        self.imports.lock().expect("the imports have panicked")
    }
}

fn host_function<I: Imports>(
    namespace: &'static str,
    imports: &Arc<Mutex<I>>,
    watch: &Watch,
) -> Function {
    let watch = watch.clone();
    let answer = move |plugin: &mut CurrentPlugin,
                       arguments: &[Val],
                       results: &mut [Val],
                       imports: UserData<I>| {
        let request: String = plugin.memory_get_val(&arguments[0])?;
        watch(namespace, "request", &request);
        let imports = imports.get()?;
        let reply = imports
            .lock()
            .expect("the imports have panicked")
            .answer(namespace, &request)?;
        watch(namespace, "reply", &reply);
        plugin.memory_set_val(&mut results[0], reply)
    };
    Function::new(
        namespace,
        [PTR],
        [PTR],
        UserData::Rust(imports.clone()),
        answer,
    )
}

/// The versions of the SDK and of its runtime in this build.
pub fn versions() -> String {
    // The SDK's version is a C string with a zero byte at its end.
    let sdk = extism::extism_version().trim_end_matches('\0');
    // Wasmtime does not export its version, so it is read from the lock file.
    let runtime = include_str!("../Cargo.lock")
        .split_once("name = \"wasmtime\"\nversion = \"")
        .and_then(|(_, rest)| rest.split('"').next())
        .expect("wasmtime is in Cargo.lock");
    format!("extism {sdk}, wasmtime {runtime}")
}
