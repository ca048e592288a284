"""Publishing against a registry that behaves as GitLab's does, where that is awkward.

A repeated upload is answered with 400 and GitLab's words; a name that the registry lacks is sent on
to another index; files are listed with their SHA-256; everything needs the job's token.
"""

import base64
import contextlib
import hashlib
import io
import os
import re
import subprocess
import threading
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest
from delivery import script, wheel

pytest.importorskip("twine")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pypi_simple") is None, reason="pypi_simple is not installed"),
]

TOKEN = "glcbt-64_token"
UPLOADS = "/".join(("", "api", "v4", "projects", "7", "packages", "pypi"))
SIMPLE = "/".join(("", "simple"))
ELSEWHERE = "public.invalid"
"""The host that a registry sends clients to for what it lacks."""


class Registry(ThreadingHTTPServer):
    """GitLab's PyPI registry of one project, in memory."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.uploads: list[str] = []
        self.refuse_after = 1_000_000
        self.url = f"http://127.0.0.1:{self.server_port}{UPLOADS}"


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def log_message(self, *_):
        pass

    def answer(self, status: int, body: str = "", kind: str = "text/html", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def allowed(self) -> bool:
        wanted = base64.b64encode(f"gitlab-ci-token:{TOKEN}".encode()).decode()
        if self.headers["Authorization"] == f"Basic {wanted}":
            return True
        self.answer(401)
        return False

    def do_GET(self):
        if not self.allowed():
            return
        name = self.path.rstrip("/").rpartition("/")[2]
        prefix = name.replace("-", "_") + "-"
        found = {n: data for n, data in self.server.files.items() if n.startswith(prefix)}
        if not found:
            self.answer(302, Location=f"http://{ELSEWHERE}{SIMPLE}/{name}/")
            return
        links = (
            f'<a href="/files/{file}#sha256={hashlib.sha256(data).hexdigest()}">{file}</a><br>'
            for file, data in found.items()
        )
        self.answer(200, f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.allowed():
            return
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts = BytesParser().parsebytes(head + body).get_payload()
        (part,) = (p for p in parts if p.get_filename())
        name = part.get_filename()
        if name in self.server.files:
            self.answer(
                400, '{"message":"Validation failed: File name has already been taken"}',
                "application/json",
            )  # fmt: skip
        elif len(self.server.uploads) >= self.server.refuse_after:
            self.answer(403, "quota")
        else:
            self.server.files[name] = part.get_payload(decode=True)
            self.server.uploads.append(name)
            self.answer(201, "{}", "application/json")


@pytest.fixture
def registry():
    made = Registry()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture
def dist(tmp_path):
    """Wheels of the core and of two plugins, in one version."""
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in ("hpc-harvest", "hpc-harvest-zinc", "hpc-harvest-argon"):
        wheel(folder, name, "1.2.0")
    return folder


def publish(dist: Path, registry: Registry, token: str = TOKEN, tag: str = "v1.2.0"):
    """Publish as the script does; what it prints and how it ends, without what twine prints."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HARVEST_", "TWINE_"))}
    given = {"HARVEST_PUBLISH_URL": registry.url, "CI_JOB_TOKEN": token, "CI_COMMIT_TAG": tag}
    with (
        mock.patch.dict(os.environ, clean | given, clear=True),
        contextlib.redirect_stdout(io.StringIO()) as said,
    ):
        try:
            script("publish").main(dist)
        except SystemExit as end:
            return subprocess.CompletedProcess([], 1, said.getvalue(), str(end.code))
    return subprocess.CompletedProcess([], 0, said.getvalue(), "")


def names(uploads: list[str]) -> list[str]:
    return [re.sub(r"-.*", "", name) for name in uploads]


def test_again_it_uploads_nothing_and_older_versions_are_left_alone(dist, registry, tmp_path):
    (tmp_path / "old").mkdir()
    old = wheel(tmp_path / "old", "hpc-harvest", "1.1.0")
    registry.files[old.name] = old.read_bytes()
    assert publish(dist, registry).returncode == 0
    assert len(registry.files) == 4

    done = publish(dist, registry)

    assert done.returncode == 0, done.stderr
    assert len(registry.uploads) == 3
    assert "upload" not in done.stdout


def test_what_a_broken_publish_left_out_is_added(dist, registry):
    # given a registry that fails after the first file
    registry.refuse_after = 1
    failed = publish(dist, registry)
    assert failed.returncode == 1
    assert "run this again" in failed.stderr
    assert names(registry.uploads) == ["hpc_harvest_argon"]

    # when it works again
    registry.refuse_after = 99
    done = publish(dist, registry)

    # then only the rest is uploaded
    assert done.returncode == 0, done.stderr
    assert names(registry.uploads) == ["hpc_harvest_argon", "hpc_harvest_zinc", "hpc_harvest"]


def check_refused(done: subprocess.CompletedProcess[str], registry: Registry, reason: str) -> None:
    """Nothing was uploaded, and it is said why."""
    assert done.returncode == 1
    assert reason in done.stderr
    assert registry.uploads == []


def test_another_file_of_that_name_stops_it_before_the_first_upload(dist, registry):
    # given a plugin that somebody built from other sources
    other = wheel(dist, "hpc-harvest-zinc", "1.2.0", text="other")
    registry.files[other.name] = other.read_bytes()
    wheel(dist, "hpc-harvest-zinc", "1.2.0", text="ours")

    done = publish(dist, registry)

    check_refused(done, registry, f"the index holds another {other.name}")


def test_a_wrong_token_is_reported_without_showing_it(dist, registry):
    done = publish(dist, registry, token="wrong-secret")
    check_refused(done, registry, "401")
    assert "wrong-secret" not in done.stdout + done.stderr


def test_distributions_of_several_versions_are_not_published(dist, registry):
    wheel(dist, "hpc-harvest-argon", "1.3.0")
    check_refused(publish(dist, registry), registry, "several versions: 1.2.0, 1.3.0")


def test_plugins_without_the_core_are_not_published(dist, registry):
    next(dist.glob("hpc_harvest-*")).unlink()
    check_refused(publish(dist, registry), registry, "no distribution hpc-harvest")


@pytest.mark.parametrize("version", ["1.2.0.dev3", "1.2.0+gabc", "1.2.0.dev3+gabc"])
def test_what_lies_between_releases_is_not_published(tmp_path, registry, version):
    wheel(tmp_path, "hpc-harvest", version)
    done = publish(tmp_path, registry, tag=f"v{version}")
    check_refused(done, registry, f"{version} is a version between releases")


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ("v1.3.0", "builds of 1.2.0, but CI_COMMIT_TAG is v1.3.0"),
        ("", "CI_COMMIT_TAG is not set"),
        ("v01.2.0", "'v01.2.0' is no release's tag"),
        ("v1.2", "'v1.2' is no release's tag"),
        ("v1.2.0.post1", "'v1.2.0.post1' is no release's tag"),
        ("v\u0661.2.0", "is no release's tag"),
    ],
)
def test_a_release_is_published_for_its_own_tag_only(dist, registry, tag, reason):
    check_refused(publish(dist, registry, tag=tag), registry, reason)
