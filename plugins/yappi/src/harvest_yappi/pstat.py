"""Read pstat files: the marshalled dict of cProfile, which Yappi can save, too."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class UnreadableError(Exception):
    """Raised for a pstat file that cannot be read; its text is the reason."""


def read_pstat(path: Path, scratch: Path, *, memory: int, seconds: int) -> Iterator[list[Any]]:
    """Yield the rows of a pstat file, which :mod:`.unmarshal` reads in a separate process.

    scratch: a directory for its output; memory, seconds: its limits in bytes and CPU seconds.

    Raises UnreadableError if the file is not a pstat, or the process crashes or exceeds a limit.
    """
    output = scratch / "pstat.jsonl"
    program = Path(__file__).with_name("unmarshal.py")
    command = [sys.executable, "-I", *map(str, (program, path, output, memory, seconds))]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds + 5, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UnreadableError(f"reading it took more than {seconds} s") from error
    if done.returncode:
        raise UnreadableError(_reason(done, seconds))
    with output.open(encoding="ascii") as lines:
        for line in lines:
            yield json.loads(line)
    output.unlink()


def _reason(done: subprocess.CompletedProcess[bytes], seconds: int) -> str:
    lines = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    last = lines[-1] if lines else ""
    if done.returncode == -signal.SIGXCPU or done.returncode == -signal.SIGKILL:
        return f"reading it took more than {seconds} s"
    if done.returncode < 0:
        return f"reading it crashed the reader with {signal.Signals(-done.returncode).name}"
    if last.startswith("MemoryError"):
        return "reading it took more memory than max_memory_bytes"
    return last or f"the reader ended with status {done.returncode}"
