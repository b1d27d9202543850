import contextlib
import io
import threading
import unittest

import failures
import sample
from plugin import Plugin, versions

EXPECTED = """\
extism.Error: error while executing at wasm backtrace:
a new instance of that module answers {"result":{"status":"ok"}}
and the plugin still answers
StoreDown: the store is down
and the plugin still answers
ParleyError: code not_found, message: this plugin has no tool "sessions_lisp"
and the plugin still answers
code invalid_args, result: {"status":"error","error":"limit must be a number"}
and the plugin still answers
"""


class Failures(unittest.TestCase):
    def test_output(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            failures.main()
        first, rest = out.getvalue().split("\n", 1)
        self.assertEqual(first, versions())
        self.assertEqual(rest, EXPECTED)


class Busy(unittest.TestCase):
    def setUp(self):
        self.plugin = Plugin()

    def describe(self, **_):
        return self.plugin.describe()

    def test_call_from_a_handler(self):
        with self.assertRaisesRegex(RuntimeError, "in the middle of a step"):
            self.plugin.ask("call", sample.call(), {"store.list": self.describe})
        self.assertIn("result", self.plugin.ask("call", sample.call(), sample.FUNCTIONS))

    def test_call_from_another_thread(self):
        caught = []

        def other():
            try:
                self.plugin.describe()
            except RuntimeError as error:
                caught.append(str(error))

        def handler(**request):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            return sample.FUNCTIONS["store.list"](**request)

        self.plugin.ask("call", sample.call(), {"store.list": handler})
        self.assertEqual(caught, ["the plugin is in the middle of a step"])
