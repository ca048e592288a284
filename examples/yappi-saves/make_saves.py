"""Write profiles as Yappi saves them, of a small program before and after it was made faster.

    python make_saves.py DIRECTORY

writes DIRECTORY/before.pstat, after.pstat, after.callgrind, threads.txt (which Yappi only prints)
and the program itself, model.py.  Calls and times are invented, so that they are the same every
time; the forms are those of Yappi 1.7.
"""

import argparse
import marshal
from pathlib import Path

PROGRAM = '''"""Read blocks while waiting for others, then fit a model to each."""


async def read_block(number): ...


async def load(blocks): ...


def decode(data): ...


def gradient(model, block): ...


def fit(block): ...


def score(model, block): ...


def main(): ...
'''
# caller, callee, calls, own seconds of the callee in these calls; a callee after its caller
CALLS = (
    ("main", "load", 1, 0.002),
    ("load", "read_block", 12, 0.031),
    ("read_block", "decode", 12, 0.840),
    ("main", "fit", 12, 0.115),
    ("fit", "gradient", 4800, 3.120),
    ("main", "score", 12, 0.024),
    ("score", "gradient", 240, 0.156),
)
MAIN_OWN = 0.010
THREADS = """
name           id     tid              ttot      scnt        
_MainThread    0      140508519623552  4.298000  412       
Thread         1      140508496033472  0.840000  36        
"""  # noqa: W291 - the table's last column is padded

Function = tuple[str, int, str]
Times = tuple[int, int, float, float]


class Profile:
    """Statistics of a run in which ``gradient`` took a share of the time it took at first."""

    def __init__(self, program: Path, share: float):
        self.program = program
        self.calls = [
            (caller, name, count, seconds * (share if name == "gradient" else 1))
            for caller, name, count, seconds in CALLS
        ]
        self.names = list(dict.fromkeys(["main", *(name for _, name, *_ in CALLS)]))
        lines = PROGRAM.splitlines()
        self.lines = {
            name: next(n for n, text in enumerate(lines, 1) if f"def {name}(" in text)
            for name in self.names
        }

    def own(self, name: str) -> float:
        """Seconds in the function itself."""
        return round(sum(own for _, n, _, own in self.calls if n == name) or MAIN_OWN, 6)

    def total(self, name: str) -> float:
        """Seconds in the function and all that it called."""
        return round(self.own(name) + sum(self.edge(c) for c in self.calls if c[0] == name), 6)

    def edge(self, call: tuple[str, str, int, float]) -> float:
        """Seconds in these calls, with all that the callee called."""
        _, name, _, own = call
        below = self.total(name) - self.own(name)
        return round(own + below, 6)

    def pstat(self) -> bytes:
        """The dict of Python's profilers, marshalled."""
        stats: dict[Function, tuple[int, int, float, float, dict[Function, Times]]] = {}
        for name in self.names:
            callers: dict[Function, Times] = {
                self.function(call[0]): (call[2], call[2], round(call[3], 6), self.edge(call))
                for call in self.calls
                if call[1] == name
            }
            count = sum(times[0] for times in callers.values()) or 1
            stats[self.function(name)] = (
                count, count, self.own(name), self.total(name), callers,
            )  # fmt: skip
        return marshal.dumps(stats)

    def function(self, name: str) -> Function:
        """What a pstat knows a function by."""
        return str(self.program), self.lines[name], name

    def callgrind(self) -> str:
        """The text that KCachegrind opens; whole microseconds."""
        numbers = {name: number for number, name in enumerate(self.names, 1)}
        text = ["version: 1", "creator: yappi", "pid: 70001", "cmd:  model.py", "part: 1", ""]
        text += ["events: Ticks", ""]
        text += [f"fl=({n}) {self.program}" for n in numbers.values()]
        text += [f"fn=({n}) {m} {self.program}:{self.lines[m]}" for m, n in numbers.items()]
        for name, number in numbers.items():
            text += ["", f"fl=({number})", f"fn=({number})"]
            text += [f"{self.lines[name]} {self.own(name) * 1e6:.0f}"]
            for call in self.calls:
                if call[0] == name:
                    to = numbers[call[1]]
                    text += [f"cfl=({to})", f"cfn=({to})", f"calls={call[2]} 0"]
                    text += [f"0 {self.edge(call) * 1e6:.0f}"]
        return "\n".join([*text, ""])


def main() -> None:
    """Write the saves below the directory given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    program = (directory / "model.py").resolve()
    program.write_text(PROGRAM)
    before, after = Profile(program, 1.0), Profile(program, 0.25)
    (directory / "before.pstat").write_bytes(before.pstat())
    (directory / "after.pstat").write_bytes(after.pstat())
    (directory / "after.callgrind").write_text(after.callgrind())
    (directory / "threads.txt").write_text(THREADS)
    print(f"written to {directory}")


if __name__ == "__main__":
    main()
