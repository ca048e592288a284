"""A real ``harvest serve`` in a process of its own, and questions to it."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import harvest_served
from commands import harvest_here
from eventually import LOOKS

import harvest
from harvest.plugins import PluginManager
from harvest.plugins.registered import loaded

PLUGIN = Path(harvest_served.__file__)


def program(*words: object) -> list[str]:
    """The words of a harvest with the plugin of these tests."""
    return [sys.executable, "-m", "harvest", "--plugin", str(PLUGIN), *map(str, words)]


def harvest_served_here(*words: object) -> subprocess.CompletedProcess[str]:
    """Call a harvest with the plugin of these tests in this process."""
    done = harvest_here("--plugin", PLUGIN, *words)
    loaded.clear()  # else the file stays a plugin of this process
    return done


def things(folder: Path, *files: str, sink: str = "parquet") -> Path:
    """A dataset of drawn things, of files ``N SEED``, in ``folder/out``."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(files):
        (folder / "in" / f"{number}.things").write_text(text)
    location = folder / "out"
    known = PluginManager()
    known.add_file(PLUGIN)
    harvest.run(f"served:{folder / 'in'}", f"{sink}:{location}", workers=1, plugins=known)
    return location


@attrs.frozen
class Answer:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


@attrs.define
class Server:
    """A server that runs: its process, its port, and the token that it asks for."""

    process: subprocess.Popen[str]
    address: str
    port: int
    token: str | None

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        token: bool = True,
        timeout_s: float = 60,
    ) -> Answer:
        """Ask for a path, with the token unless told otherwise."""
        given = {"Authorization": f"Bearer {self.token}"} if token and self.token else {}
        if body is not None:
            given["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        with contextlib.closing(connection):
            connection.request(method, path, body, {**given, **(headers or {})})
            answer = connection.getresponse()
            return Answer(
                answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
            )

    def sql(self, query: str, dataset: str = "out", **more: Any) -> Answer:
        """Ask by SQL."""
        body = json.dumps({"query": query, **more})
        return self.ask(f"/api/{dataset}/sql", method="POST", body=body)

    def memory_mb(self, what: str = "VmRSS") -> float:
        """What the process holds now; ``VmHWM`` what it held at most."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"{what}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """End it by a signal: its exit code, and what it wrote to standard error."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@contextlib.contextmanager
def serving(*words: object, **variables: str) -> Iterator[Server]:
    """``harvest serve WORDS... --no-open``, with the plugin of these tests; it ends at the end."""
    process = subprocess.Popen(
        program("serve", "--no-open", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"(http://[^/]+:(\d+)/)(?:\?token=(\S+))?", said)
        if found is None:
            raise AssertionError(f"{said}{process.communicate()[1]}")
        yield Server(process, found[1], int(found[2]), found[3])
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def until(what: Any, looks: int = LOOKS) -> Any:
    """What a function gives once that is true; the last of it where it never is."""
    for _ in range(looks):
        if found := what():
            return found
        time.sleep(0.1)
    return what()
