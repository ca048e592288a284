"""A headless Chromium that tests steer: open a page, run JavaScript, move the mouse, take pictures.

It is steered by its DevTools protocol over two pipes (``--remote-debugging-pipe``): messages are
JSON, each ended by a zero byte.  Nothing listens on a port.

    with Browser(tmp_path) as browser:
        browser.open(path.as_uri())
        browser.mouse("mouseMoved", 200, 300)
        assert browser.value("document.title") == "A page"
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

SECONDS = 60
COMMAND = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe"),
)


class Browser:
    """One browser with one page; ends with its ``with``.

    folder: for its profile and what it prints.  size: of the window.
    Raises RuntimeError when it cannot run.

    complaints: what the page wrote to the console, and errors that nobody caught.
    requests: addresses that the page asked for, apart from ``data:``.
    """

    def __init__(self, folder: Path, size: tuple[int, int] = (1280, 900)):
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._buffer, self._number = b"", 0
        reads, self._write = os.pipe()
        self._read, writes = os.pipe()
        self._log = (folder / "browser.log").open("wb")
        # the protocol is spoken on the descriptors 3 and 4
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{reads} 4>&{writes}; exec "$@"', "chromium", *COMMAND,
             f"--user-data-dir={folder / 'profile'}", f"--window-size={size[0]},{size[1]}"],
            pass_fds=(reads, writes), stdout=self._log, stderr=self._log,
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=size[0], height=size[1], deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._write)  # which ends it
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        self._log.close()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; gives its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        try:
            while data:
                data = data[os.write(self._write, data) :]
        except BrokenPipeError:
            raise RuntimeError("the browser has ended") from None
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        self.send("Page.navigate", url=address)
        self.wait("document.readyState == 'complete'")

    def value(self, script: str) -> Any:
        """What JavaScript gives, a promise's value included."""
        result = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until JavaScript gives something true."""
        until = time.monotonic() + SECONDS
        while not self.value(script):
            if time.monotonic() > until:
                raise AssertionError(f"never true: {script}; {self.complaints}")
            time.sleep(0.05)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """An event of the mouse: mouseMoved, mousePressed, mouseReleased or mouseWheel."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def dark(self) -> None:
        """Prefer a dark page."""
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        self.send("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path) -> None:
        """The page as a PNG file."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], SECONDS)
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser has ended, or says nothing")
            self._buffer += data
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, event: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            words = [str(a.get("value", a.get("description"))) for a in event["args"]]
            self.complaints.append(" ".join(words))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            address = event["request"]["url"]
            if not address.startswith("data:"):
                self.requests.append(address)


def dumped(path: Path, folder: Path) -> str:
    """The page of a file as the browser shows it, without a complaint; folder: for its profile."""
    words = [word for word in COMMAND if word != "--remote-debugging-pipe"]
    done = subprocess.run(
        [*words, f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", "--dump-dom",
         path.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"chromium cannot run here: {done.stderr[-200:]}")
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert [line for line in said if "setting log level" not in line] == []
    return done.stdout
