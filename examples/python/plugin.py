"""Parley's module in the Extism SDK: one instance, which is called a step at a time."""

import functools
import json
import platform
import re
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import extism
from extism.extism import CompiledPlugin  # which the package itself does not export

ROOT = Path(__file__).resolve().parents[2]
MODULE = ROOT / "plugin/wasm/parley.wasm"

# Answers a host call: (family, request) -> reply, the latter two JSON texts.
Handler = Callable[[str, str], str]


def versions():
    return (
        f"extism {metadata.version('extism')} (libextism {extism.extism_version()}), "
        f"Python {platform.python_version()}"
    )


# The same by its name, such as store.get: takes a request's members, returns that of the reply.
Function = Callable[..., dict]


class ParleyError(Exception):
    """A step that failed, of which nothing counts, or a request that a host function refuses."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Plugin:
    """A module with one instance of it.

    It takes one step at a time: a second one, of another thread or of the handler, is a
    RuntimeError. After an extism.Error, such as a trap, it goes on with a new instance.
    """

    def __init__(self, module: Path = MODULE):
        self._compiled = _compile(module)
        self._busy = threading.Lock()
        self.instance = extism.Plugin(self._compiled)

    def describe(self) -> dict:
        return json.loads(self.call("describe", "", None))

    def ask(self, export: str, message: dict, functions: dict[str, Function]) -> dict:
        """Call an export with JSON values. Members of requests are arguments in snake_case."""

        def handler(family, request):
            return _dumps(_reply(functions, family, json.loads(request)))

        output = json.loads(self.call(export, _dumps(message), handler))
        if "error" in output:
            raise ParleyError(**output["error"])
        return output

    def call(self, export: str, text: str, handler: Handler) -> str:
        # Without this the SDK would wait for itself for ever when a handler calls, and could
        # hand one thread the output of another.
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
            # The SDK would go on with the memory that the trap has left.
            self.instance = extism.Plugin(self._compiled)
            if answers.failure is None:
                raise
        if answers.failure is not None:
            raise answers.failure
        return output.decode()


def _reply(functions, family, request):
    name = f"{family}.{request.pop('op')}"
    try:
        if name not in functions:
            raise ParleyError("unsupported", f"this host has no {name}")
        return {"ok": functions[name](**{_snake(k): v for k, v in request.items()})}
    except ParleyError as refusal:
        return {"error": {"code": refusal.code, "message": refusal.message}}


def _snake(name):
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


# Without blanks and escapes: it is the bytes that have a limit.
_dumps = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class _Answers:
    """The handler's answers to the host calls of one step, up to its first exception."""

    def __init__(self, handler):
        self._handler = handler
        self.failure = None

    def answer(self, family, current, request, reply):
        if self.failure is not None:
            return
        try:
            text = self._handler(family, current.input_string(request))
            current.return_string(reply, text)
        except BaseException as failure:
            # From here the SDK would only print it. It is kept until the step has returned;
            # the plugin, which gets no reply, soon ends it.
            self.failure = failure


def _host_function(family):
    @extism.host_fn(
        name=family,
        namespace="extism:host/user",
        signature=([extism.ValType.I64], [extism.ValType.I64]),
    )
    def call(current, inputs, outputs, *_):
        current.host_context().answer(family, current, inputs[0], outputs[0])

    return call


# The SDK never forgets a host function. So there are these three for all instances, and what
# differs from step to step comes with the call, as its host context.
_HOST_FUNCTIONS = [_host_function(family) for family in ("store", "agent", "deliver")]


@functools.cache
def _compile(module):
    """Takes up to a second; an instance of what it returns, less than a millisecond."""
    return CompiledPlugin(module.read_bytes(), functions=_HOST_FUNCTIONS)
