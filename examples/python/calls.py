"""Calls sessions_list N times on one instance, and fails if the memory grows."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import exact
import sample
from plugin import Plugin, versions


def resident_mib():
    """Return the resident set of this process, from /proc on Linux and else from ps."""
    status = Path("/proc/self/status")
    if status.exists():
        kib = status.read_text().split("VmRSS:")[1].split()[0]
    else:
        kib = subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())])
    return int(kib) / 1024


def grew(first, last):
    return last > 1.1 * first + 4


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", metavar="N", type=int, nargs="?", default=100_000)
    n = parser.parse_args(arguments).n
    if n < 10:
        parser.error("N must be at least 10")

    print(versions())
    plugin = Plugin()
    text = exact.dumps(sample.call())
    expected = plugin.call("call", text, sample.store)
    first = None
    start = time.monotonic()
    for i in range(1, n + 1):
        output = plugin.call("call", text, sample.store)
        if output != expected:
            print(f"call {i}: {output}")
            return 1
        if i % (n // 10) == 0:
            resident = resident_mib()
            first = first or resident
            print(f"{i} calls, {resident:.1f} MiB", file=sys.stderr)
    rate = n / (time.monotonic() - start)
    last = resident_mib()
    print(
        f"{n} calls, {rate:.0f} calls/s, memory {first:.1f} MiB after the first tenth, "
        f"{last:.1f} MiB at the end"
    )
    return 1 if grew(first, last) else 0


if __name__ == "__main__":
    sys.exit(main())
