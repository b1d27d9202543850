"""Parley's module in the Extism SDK: one instance, which executes one step at a time."""

import functools
import json
import platform
import re
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import extism
from extism.extism import CompiledPlugin  # not exported by the package itself

ROOT = Path(__file__).resolve().parents[2]
MODULE = ROOT / "plugin/wasm/parley.wasm"

# Answers a host call: (namespace, request) -> reply. Request and reply are JSON texts.
Handler = Callable[[str, str], str]


def versions():
    return (
        f"extism {metadata.version('extism')} (libextism {extism.extism_version()}), "
        f"Python {platform.python_version()}"
    )


# Answers one operation, such as store.get: takes the members of a request, and returns the reply.
Function = Callable[..., dict]


class ParleyError(Exception):
    """A failed step, which has no effects, or a request that a host function refuses."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Plugin:
    """A module with one instance of it.

    It executes one step at a time: a concurrent call, from another thread or from the handler,
    raises a RuntimeError. After an extism.Error, such as a trap, it uses a new instance.
    """

    def __init__(self, module: Path = MODULE):
        self._compiled = _compile(module)
        self._busy = threading.Lock()
        self.instance = extism.Plugin(self._compiled)

    def describe(self) -> dict:
        return json.loads(self.call("describe", "", None))

    def ask(self, export: str, message: dict, functions: dict[str, Function]) -> dict:
        """Call an export with JSON values. Members of requests are arguments in snake_case."""

        def handler(namespace, request):
            return _dumps(_reply(functions, namespace, json.loads(request)))

        output = json.loads(self.call(export, _dumps(message), handler))
        if "error" in output:
            raise ParleyError(**output["error"])
        return output

    def call(self, export: str, text: str, handler: Handler) -> str:
        # Without this lock the SDK would deadlock when a handler calls, and could return the
        # output of one thread to another.
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("the plugin is in the middle of a step")
        try:
            return self._call(export, text, _Answers(handler))
        finally:
            self._busy.release()

    def _call(self, export, text, answers):
        try:
            output = self.instance.call(export, text, host_context=answers)
        except extism.Error:
            # The SDK would keep using the memory of the instance after a trap.
            self.instance = extism.Plugin(self._compiled)
            if answers.failure is None:
                raise
        if answers.failure is not None:
            raise answers.failure
        return output.decode()


def _reply(functions, namespace, request):
    name = f"{namespace}.{request.pop('op')}"
    try:
        if name not in functions:
            raise ParleyError("unsupported", f"this host has no operation {name}")
        return {"ok": functions[name](**{_snake(k): v for k, v in request.items()})}
    except ParleyError as refusal:
        return {"error": {"code": refusal.code, "message": refusal.message}}


def _snake(name):
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


# Without blanks and escapes, because the limits count bytes.
_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class _Answers:
    """The handler's answers to the host calls of one step, up to its first exception."""

    def __init__(self, handler):
        self._handler = handler
        self.failure = None

    def answer(self, namespace, current, request, reply):
        if self.failure is not None:
            return
        try:
            text = self._handler(namespace, current.input_string(request))
            current.return_string(reply, text)
        except BaseException as failure:
            # The SDK would only print the exception. It is stored until the step has returned;
            # without a reply the plugin ends the step.
            self.failure = failure


def _host_function(name):
    @extism.host_fn(
        name=name,
        namespace="extism:host/user",
        signature=([extism.ValType.I64], [extism.ValType.I64]),
    )
    def call(current, inputs, outputs, *_):
        current.host_context().answer(name, current, inputs[0], outputs[0])

    return call


# The SDK never releases a host function. So all instances share these three, and the data of a
# step is passed with the call, as its host context.
_HOST_FUNCTIONS = [_host_function(name) for name in ("store", "agent", "deliver")]


@functools.cache
def _compile(module):
    """Compile a module, in up to a second. An instance of the result takes under a millisecond."""
    return CompiledPlugin(module.read_bytes(), functions=_HOST_FUNCTIONS)
