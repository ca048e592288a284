"""What a reader of ``harvest serve`` waits for, over a table of many rows, and the server's memory.

    python benchmarks/bench_serve.py DATASET [--table gpfs.file] [--clients 50] [--pages 6]

- the first page of the table, the same page sorted by each number column both ways, and the
  values of each column that has few, counted: the fastest and slowest of some turns, by the clock;
- many clients that page through the table at once, each sorted by another column: by the clock,
  and how much more the server and its children held at most than before the first question, as
  proportional set size (``Pss`` of /proc: memory that processes share is counted once).

Times by the clock hold on an idle machine alone.
"""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
from serving import serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--table", default="gpfs.file")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--pages", type=int, default=6, help="that each client reads")
    arguments = parser.parse_args()
    name, table = quote(arguments.dataset.name), quote(arguments.table)
    with serving(arguments.dataset) as server:

        def ask(path: str) -> None:
            answer = server.ask(path)
            if answer.status != 200:
                raise SystemExit(f"{path}: {answer.status} {answer.text[:500]}")

        columns = server.ask(f"/api/{name}/tables/{table}").json["columns"]
        numbers = [each["name"] for each in columns if each["type"] in ("integer", "number")]
        idle = held(server.process.pid)
        page = f"/d/{name}/table/{table}"
        paths = {"first page": page}
        paths |= {f"sort={s}{n}": f"{page}?sort={s}{n}" for n in numbers for s in ("", "-")}
        facets = f"/api/{name}/tables/{table}/facets"
        found = server.ask(facets).json["facets"]
        paths |= {
            f"values of {each['column']}": f"{facets}?columns={each['column']}" for each in found
        }
        for what, path in paths.items():
            another = f"{'&' if '?' in path else '?'}{numbers[0]}.ge="  # what was asked is kept
            took = [seconds(ask, f"{path}{another}{turn}") for turn in range(arguments.turns)]
            print(f"{what:<28}{min(took):>8.3f} s{max(took):>8.3f} s", flush=True)
        print(f"memory after them: +{(held(server.process.pid) - idle) / 1e6:.0f} MB", flush=True)
        asked = [
            f"{page}?sort=-{numbers[client % len(numbers)]}&offset={50 * (client + turn)}"
            for turn in range(arguments.pages)
            for client in range(arguments.clients)
        ]
        with watched(server.process.pid) as most, ThreadPoolExecutor(arguments.clients) as clients:
            begun = time.monotonic()
            took = list(clients.map(lambda path: seconds(ask, path), asked))
            whole = time.monotonic() - begun
        print(
            f"{arguments.clients} clients, {len(asked)} pages: {whole:.1f} s, "
            f"a page {sorted(took)[len(took) // 2]:.2f} s (half), {max(took):.2f} s (slowest); "
            f"memory at most +{(max(most) - idle) / 1e6:.0f} MB"
        )


def seconds(ask: Callable[[str], None], path: str) -> float:
    """How long an answer takes by the clock."""
    begun = time.monotonic()
    ask(path)
    return time.monotonic() - begun


def held(pid: int) -> int:
    """Bytes that a process and its descendants hold, what they share counted once."""
    try:
        found = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        tasks = list(Path(f"/proc/{pid}/task").glob("*/children"))
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0
    own = sum(1024 * int(line.split()[1]) for line in found if line.startswith("Pss:"))
    return own + sum(map(held, children))


@contextmanager
def watched(pid: int) -> Iterator[list[int]]:
    """What a process and its descendants hold, ten times a second."""
    ended, found = threading.Event(), [held(pid)]

    def watch() -> None:
        while not ended.wait(0.1):
            found.append(held(pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield found
    finally:
        ended.set()
        watcher.join()


if __name__ == "__main__":
    main()
