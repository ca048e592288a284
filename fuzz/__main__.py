"""``python -m fuzz``: list, replay, shuffle or fuzz the targets."""

import argparse
import sys
from pathlib import Path

from . import engine
from .targets import NAMES, load


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("list", help="the targets")
    for name, text in (
        ("seeds", "write a target's corpus as files"),
        ("replay", "check the corpus"),
        ("shuffle", "check random changes of the corpus (no atheris needed)"),
        ("run", "fuzz, guided by coverage (needs atheris)"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("target", nargs=None if name in ("seeds", "run") else "*")
        if name in ("seeds", "run"):
            command.add_argument("folder", type=Path, help="of inputs, made where it is not there")
        if name in ("shuffle", "run"):
            command.add_argument("--runs", type=int, default=0)
        if name == "shuffle":
            command.add_argument("--seed", type=int, default=1)
        if name == "run":
            command.add_argument("--seconds", type=int, default=0)
            command.add_argument("options", nargs="*", help="more of libFuzzer's, behind --")
    given = parser.parse_args()
    if given.command in (None, "list"):
        for name in NAMES:
            print(f"{name:<16}{load(name).doc.splitlines()[0]}")
    elif given.command == "seeds":
        given.folder.mkdir(parents=True, exist_ok=True)
        for number, (_, data) in enumerate(engine.corpus(load(given.target))):
            (given.folder / f"{given.target}-{number}").write_bytes(data)
    elif given.command == "run":
        engine.fuzz(
            given.target,
            given.folder,
            runs=given.runs,
            seconds=given.seconds,
            options=given.options,
        )
    else:
        for name in given.target or NAMES:
            target = load(name)
            if given.command == "replay":
                count = engine.replay(target)
            else:
                count = engine.shuffle(target, given.runs or 200, given.seed)
            print(f"{name}: {count} inputs", file=sys.stderr)


if __name__ == "__main__":
    main()
