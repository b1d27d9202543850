import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import exact
import replay
from source import elements

ID = "S0.1/error-hides-absence"
SECTION = elements((replay.RECORDINGS / "S0.1.json").read_text(encoding="utf-8"))
GOOD = next(text for text in SECTION if exact.loads(text)["id"] == ID)

# The only host call of that recording.
CALL = GOOD.split('"calls": [')[1].split("],")[0]


def run(*recordings):
    """Replay a folder with these recordings; return the exit status and the printed lines."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "below", "S0.1.json")
        file.parent.mkdir()
        file.write_text(f"[{','.join(recordings)}]", encoding="utf-8")
        return run_folder(folder)


def run_folder(folder):
    """Replay a folder; return the exit status and the lines without the versions."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = replay.main([str(folder)])
    return status, out.getvalue().splitlines()[1:]


class Replay(unittest.TestCase):
    def assert_fails(self, before, after, pointer):
        tampered = GOOD.replace(before, after)
        self.assertNotEqual(tampered, GOOD)
        status, lines = run(tampered, GOOD)
        self.assertEqual(status, 1)
        failure, summary = lines
        self.assertTrue(failure.startswith(f"{ID}: {pointer}: "), failure)
        self.assertEqual(summary, "1 passed, 1 failed")

    def test_good(self):
        self.assertEqual(run(GOOD), (0, ["1 passed, 0 failed"]))

    def test_every_recording(self):
        status, lines = run_folder(replay.RECORDINGS)
        self.assertEqual(status, 0, lines)

    def test_empty(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run_folder(folder), (1, ["0 passed, 0 failed"]))

    def test_namespace(self):
        self.assert_fails('"family": "store"', '"family": "agent"', "/exchanges/0/calls/0/family")

    def test_request(self):
        self.assert_fails('"op":"get"', '"op":"list"', "/exchanges/0/calls/0/request/op")

    def test_output(self):
        self.assert_fails(
            '"output": {"result":{"status":"forbidden"',
            '"output": {"result":{"status":"error"',
            "/exchanges/0/output/result/status",
        )

    def test_one_call_less(self):
        self.assert_fails(CALL, "", "/exchanges/0/calls/0")

    def test_one_call_more(self):
        self.assert_fails(CALL, f"{CALL},{CALL}", "/exchanges/0/calls/1")
