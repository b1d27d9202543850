import contextlib
import io
import unittest

import calls


class Calls(unittest.TestCase):
    def test_memory_is_constant(self):
        out, progress = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(progress):
            status = calls.main(["1000"])
        self.assertEqual(status, 0, out.getvalue())
        self.assertRegex(
            out.getvalue(),
            r"\n1000 calls, \d+ calls/s, "
            r"memory \d+\.\d MiB after the first tenth, \d+\.\d MiB at the end\n$",
        )
        self.assertEqual(len(progress.getvalue().splitlines()), 10)

    def test_grew(self):
        self.assertFalse(calls.grew(100, 114))
        self.assertTrue(calls.grew(100, 114.1))
