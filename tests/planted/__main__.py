"""Try planted bugs, and say which promise of the kit catches each.

    python -m tests.planted [--kit DIRECTORY] [--as before|after] [--long] [WORD ...]

WORD: names of bugs, kinds or plugins; all by default.  A plugin is tried without a bug first, and
must keep all promises.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from . import results
from .bugs import BUGS, SETS
from .planting import SOUND, Bug
from .trying import Outcome, attempt


def main() -> None:
    """Try bugs one after the other, and keep what came of each at once."""
    parser = argparse.ArgumentParser(prog="python -m tests.planted", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--kit", type=Path, help="where another version of harvest_testing lies")
    parser.add_argument("--as", dest="column", default="after", choices=results.COLUMNS)
    parser.add_argument("--again", action="store_true", help="also those with a result")
    parser.add_argument("--sure", action="store_true", help="try no plugin without a bug first")
    parser.add_argument("--long", action="store_true", help="try all tests, whatever the kind is")
    parser.add_argument("--hold", action="store_true", help="fail where one that was caught is not")
    for name in SETS:
        how = {"action": "store_const", "const": name, "dest": "later"}
        parser.add_argument(f"--{name}", help=f"the {name} set", **how)
    told = parser.parse_args()
    if told.kit is not None:  # found before the installed one, here and in processes begun here
        sys.path.insert(0, str(told.kit))
        os.environ["PYTHONPATH"] = str(told.kit)
    bugs = SETS[told.later] if told.later else BUGS
    held = results.load()
    chosen = [bug for bug in bugs if not told.words or _words(bug) & set(told.words)]
    if told.hold:
        chosen = [bug for bug in chosen if held.get(bug.name, {}).get("after")]
    elif not told.again:
        chosen = [bug for bug in chosen if told.column not in held.get(bug.name, {})]
    escaped = []
    for bug, outcome in tried(chosen, sure=told.sure, long=told.long):
        if told.hold:
            escaped += [] if outcome.caught else [bug.name]
        else:
            results.keep(bug.name, told.column, outcome.caught)
    if escaped:
        raise SystemExit(f"not caught any more: {', '.join(escaped)}")


def tried(bugs: list[Bug], *, sure: bool, long: bool) -> Iterator[tuple[Bug, Outcome]]:
    """Each bug and what came of it; plugins without one first."""
    import harvest_testing  # what each process needs, imported once

    print(f"the kit in {Path(harvest_testing.__file__).parent}", flush=True)
    for plugin in dict.fromkeys(bug.plugin for bug in bugs):
        if not (SOUND / f"check_{plugin}.py").exists():
            print(f"{'':24} {plugin:32} has no conformance class")
            continue
        sound = Outcome(None, 0.0, "") if sure else attempt(plugin)
        print(
            f"{'':24} {plugin:32} {sound.caught or 'sound':50} {sound.seconds:6.1f} s", flush=True
        )
        if sound.caught is not None:
            raise SystemExit(f"{plugin} does not pass:\n{sound.output}")
        for bug in (bug for bug in bugs if bug.plugin == plugin):
            outcome = attempt(plugin, bug, quick=sound.quick, long=long)
            promise = outcome.caught or "missed"
            print(
                f"{bug.kind:24} {bug.name:32} {promise:50} {outcome.seconds:6.1f} s",
                flush=True,
            )
            yield bug, outcome


def _words(bug: Bug) -> set[str]:
    return {bug.name, bug.kind, bug.plugin}


if __name__ == "__main__":
    main()
