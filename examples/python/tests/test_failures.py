import contextlib
import io
import threading
import unittest

import failures
import parley
import sample

EXPECTED = """\
extism.Error: error while executing at wasm backtrace:
a new instance of that module answers {"result":{"status":"ok"}}
and the plugin still answers
StoreDown: the store is down
and the plugin still answers
StepError: code not_found, message: this plugin has no tool "sessions_lisp"
and the plugin still answers
code invalid_args, result: {"status":"error","error":"limit must be a number"}
and the plugin still answers
"""


class Failures(unittest.TestCase):
    def test_output(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            failures.main()
        versions, rest = out.getvalue().split("\n", 1)
        self.assertEqual(versions, parley.versions())
        self.assertEqual(rest, EXPECTED)


class Busy(unittest.TestCase):
    def setUp(self):
        self.plugin = parley.Plugin()

    def test_call_from_a_handler(self):
        def handler(family, request):
            return self.plugin.call("describe", "", sample.store)

        with self.assertRaisesRegex(RuntimeError, "in the middle of a step"):
            self.plugin.step("call", sample.call(), handler)
        self.assertIn("result", self.plugin.step("call", sample.call(), sample.store))

    def test_call_from_another_thread(self):
        caught = []

        def other():
            try:
                self.plugin.call("describe", "", sample.store)
            except RuntimeError as error:
                caught.append(str(error))

        def handler(family, request):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            return sample.store(family, request)

        self.plugin.step("call", sample.call(), handler)
        self.assertEqual(caught, ["the plugin is in the middle of a step"])
