"""Replays recordings: the same inputs and replies must lead to the same requests and outputs."""

import argparse
import sys
from pathlib import Path

import extism

import exact
import recording
from plugin import ROOT, Plugin, versions

RECORDINGS = ROOT / "testdata/recordings"


def replay_all(plugin, folder):
    """Print the failures, and return the numbers of passed and failed recordings."""
    passed = failed = 0
    for file in sorted(folder.rglob("*.json")):
        if file.name == "index.json":
            continue
        for recorded in recording.loads(file.read_text(encoding="utf-8")):
            try:
                recording.replay(plugin, recorded)
                passed += 1
            except (exact.Difference, ValueError, extism.Error) as failure:
                print(f"{recorded.id}: {failure}")
                failed += 1
    return passed, failed


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir", metavar="DIR", type=Path, nargs="?", default=RECORDINGS)
    folder = parser.parse_args(arguments).dir
    print(versions())
    passed, failed = replay_all(Plugin(), folder)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
