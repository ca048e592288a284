"""Running a target: over its corpus, with random changes, or guided by coverage (atheris)."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from .scratch import folder
from .targets import PARSERS, Target, load

__all__ = ["CORPUS", "corpus", "fuzz", "replay", "shuffle"]

CORPUS = Path(__file__).parent / "corpus"
SLOWEST_S = 20
"""Seconds that one input may take before it counts as a hang."""


def corpus(target: Target) -> Iterator[tuple[str, bytes]]:
    """The inputs to start from, with names: those made, then those found by earlier runs."""
    for number, data in enumerate(target.seeds()):
        yield f"seed {number}", data
    for path in sorted((CORPUS / target.name).glob("*")):
        yield path.name, path.read_bytes()


def replay(target: Target) -> int:
    """Check every input of the corpus; gives their number."""
    count = 0
    for name, data in corpus(target):
        try:
            target.run(data)
        except Exception as error:
            error.add_note(f"fuzz target {target.name}, input {name}")
            raise
        count += 1
    return count


def shuffle(target: Target, runs: int, seed: int) -> int:
    """Check random changes of the corpus, without atheris: the same ones for the same seed."""
    random = Random(seed)  # noqa: S311 - no secret is made of it
    inputs = [data for _, data in corpus(target)]
    for number in range(runs):
        data = random.choice(inputs)
        for _ in range(random.randint(1, 3)):
            data = _change(target, data, random)
        try:
            target.run(data)
        except Exception as error:
            error.add_note(f"fuzz target {target.name}, change {number} of seed {seed}: {data!r}")
            raise
    return runs


def _change(target: Target, data: bytes, random: Random) -> bytes:
    if target.mutate is not None and random.random() < 0.7:
        return target.mutate(data, random)[: target.max_bytes]
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(changed) + 1)
        changed[place : place + random.randint(0, 2)] = random.randbytes(random.randint(0, 3))
    return bytes(changed[: target.max_bytes])


def fuzz(name: str, found: Path, *, runs: int, seconds: int, options: list[str]) -> None:
    """Fuzz until a promise breaks, or the runs or seconds are over; ends the process.

    found: folder that gathers inputs of new coverage; an input that breaks a promise is written
        beside it.  runs, seconds: 0 is without end.  options: more of libFuzzer's.
    """
    # the fuzzer ends its process at once: this one stays to remove the inputs' folder
    folder()
    if child := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.exit(code if code >= 0 else 128 - code)

    import atheris

    # parsers are imported under instrumentation, those put off until they are needed too
    with (
        contextlib.redirect_stderr(io.StringIO()),
        atheris.instrument_imports(include=list(PARSERS[name])),
    ):
        target = load(name)
        for _, data in corpus(target):
            with contextlib.suppress(Exception):  # met again below, and told there
                target.run(data)
    found.mkdir(parents=True, exist_ok=True)
    for number, (_, data) in enumerate(corpus(target)):
        (found / f"start-{number}").write_bytes(data)

    def change(data: bytes, size: int, seed: int) -> bytes:
        random = Random(seed)  # noqa: S311
        if target.mutate is None or random.random() < 0.4:
            mutated: bytes = atheris.Mutate(data, size)
            return mutated
        return target.mutate(data or b"\0", random)[:size]

    arguments = [
        sys.argv[0],
        f"-max_len={target.max_bytes}",
        f"-runs={runs or -1}",
        f"-max_total_time={seconds}",
        f"-timeout={SLOWEST_S}",
        "-rss_limit_mb=3000",
        "-print_final_stats=1",
        f"-artifact_prefix={found.parent}/broken-{name}-",
        *options,
        str(found),
    ]
    atheris.Setup(arguments, target.run, custom_mutator=change)
    atheris.Fuzz()
