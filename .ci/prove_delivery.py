"""Prove the delivery on this machine: from a commit to `pip install hpc-harvest[all]`.

    python .ci/prove_delivery.py

A scratch clone of HEAD goes through the pipeline's own jobs, run by gitlab-ci-local without
containers: `tag-release` pushes a tag into a scratch repository; `lint`, `test` (a few tests),
`build` and `publish` run on that tag against a pypiserver on loopback that asks for a password;
`publish` runs again on a complete and on a half-done index; `try-release` installs from that index
and the public one into a fresh environment and harvests there; the same is done once more from a
folder of wheels with no index at all.  Nothing outside the scratch folder is written, and the
server is stopped at the end.

Where git, a checkout, node, npm, rsync or npm's registry are not to be had it says so and ends
with 0.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNNER = "gitlab-ci-local@4.72.0"  # the newest that node 20 runs
USER, PASSWORD = "gitlab-ci-token", "only-on-loopback"
QUICK = "tests/test_record.py tests/test_model_schema.py"
"""Tests for the job's sake; all of them run elsewhere."""


class Skipped(Exception):
    """The proof cannot be had on this machine; the message says why."""


def main() -> None:
    """Run the proof in a scratch folder."""
    with tempfile.TemporaryDirectory(prefix="harvest-delivery-") as name:
        scratch = Path(name)
        runner = install_runner(scratch)
        pipeline = Pipeline(runner, scratch_clone(scratch))

        with step("tag-release: the next version, its changelog and tag"):
            version = release(pipeline, scratch / "origin.git")
        packages = scratch / "packages"
        with index(scratch, packages) as url:
            pipeline.variables |= {
                "CI_COMMIT_TAG": f"v{version}",
                "HARVEST_PUBLISH_URL": url,
                "CI_JOB_TOKEN": PASSWORD,
                "PYTEST_ARGS": QUICK,
            }
            python = f"{sys.version_info.major}.{sys.version_info.minor}"
            with step(f"lint, test: [{python}], build, publish on v{version}"):
                pipeline.run("lint", f"test: [{python}]", "build", "publish")
            check_reports(pipeline.clone)
            published = check_published(packages, version)

            with step("publish again: nothing is uploaded twice"):
                pipeline.run("publish")
            assert published == state(packages), "a second publish changed the index"

            with step("publish again after a half-done publish"):
                kept = dict(sorted(published.items(), key=lambda item: item[1])[:3])
                for path in packages.iterdir():
                    if path.name not in kept:
                        path.unlink()
                pipeline.run("publish")
            again = check_published(packages, version)
            assert set(again) == set(published), "the half-done publish was not completed"
            assert kept.items() <= again.items(), "what was there already was uploaded again"

            with step("try-release: a fresh environment, this index and the public one, a harvest"):
                told = pipeline.run("try-release")
            assert f"hpc-harvest[all] {version} installed and harvested" in told

            gather, install = blocks(ROOT / "containers" / "README.md", "A machine without network")
            with step("a folder of wheels, gathered as containers/README.md tells"):
                shell(gather, scratch, url)
        with step("installed from it without any index, and a harvest"):
            shell(install, scratch, "")
            harvest = scratch / "harvest-env" / "bin" / "harvest"
            assert said([harvest, "--version"], scratch).strip() == f"harvest {version}"
            run = pipeline.clone / "examples" / "dask-run"
            said([harvest, "run", "-s", f"mofka-dask:{run}", "-k", "parquet:out"], scratch)
            said([harvest, "verify", "out"], scratch)
    print("delivery proved: released, built, published twice over, installed, harvested")


# ---- the pipeline -------------------------------------------------------------------------------


def install_runner(scratch: Path) -> Path:
    """gitlab-ci-local in the scratch folder; raises Skipped where it cannot be had."""
    if not shutil.which("rsync") and os.environ.get("CI") and os.geteuid() == 0:
        for words in (["update", "-q"], ["install", "-qy", "--no-install-recommends", "rsync"]):
            subprocess.run(["apt-get", *words], check=False, capture_output=True)
    for program in ("git", "node", "npm", "rsync"):
        if not shutil.which(program):
            raise Skipped(f"{program} is not installed")
    asked = ["git", "rev-parse", "--is-shallow-repository"]
    shallow = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if shallow.returncode != 0:
        raise Skipped("this is no checkout that git reads")
    if shallow.stdout.strip() == "true":
        raise Skipped("the history was not fetched whole: versions come from it")
    done = subprocess.run(
        ["npm", "install", "--prefix", scratch / "runner", "--no-fund", "--no-audit",
         "--loglevel=error", RUNNER],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise Skipped(f"npm cannot install {RUNNER}: {done.stderr.strip()[-300:]}")
    return scratch / "runner" / "node_modules" / ".bin" / "gitlab-ci-local"


def scratch_clone(scratch: Path) -> Path:
    """A clone of HEAD on the branch main, with a repository of its own to push to."""
    if said(["git", "status", "--porcelain"], ROOT).strip():
        print("note: changes that are not committed take no part in the proof")
    clone, origin = scratch / "clone", scratch / "origin.git"
    said(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], scratch)
    git = ["git", "-c", "user.name=proof", "-c", "user.email=proof@localhost"]
    said([*git, "checkout", "--quiet", "-B", "main"], clone)
    (clone / "changelog.d" / "+proof.fixed.md").write_text("Releases are proved before they are.\n")
    said([*git, "add", "changelog.d"], clone)
    said([*git, "commit", "--quiet", "-m", "Something to release"], clone)
    said(["git", "init", "--quiet", "--bare", "--initial-branch=main", origin], scratch)
    said([*git, "remote", "set-url", "origin", origin], clone)
    said([*git, "push", "--quiet", "--tags", "origin", "main"], clone)
    return clone


class Pipeline:
    """The jobs of .gitlab-ci.yml in a clone, run in its shell one after the other."""

    def __init__(self, runner: Path, clone: Path) -> None:
        self.runner, self.clone = runner, clone
        home = Path.home()
        self.variables = {  # the machine's caches: what is downloaded already is not again
            "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR") or str(home / ".cache/pip"),
            "UV_CACHE_DIR": os.environ.get("UV_CACHE_DIR") or str(home / ".cache/uv"),
        }

    def run(self, *jobs: str, **variables: str) -> str:
        """Run jobs and give what they printed; ends the program when one fails."""
        given = [f"{key}={value}" for key, value in (self.variables | variables).items()]
        hidden = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
        return said(
            [self.runner, "--force-shell-executor", "--shell-isolation",
             "--concurrency", "1", "--color=false", "--timestamps",
             *(word for pair in given for word in ("--variable", pair)), *jobs],
            self.clone,
            {k: v for k, v in os.environ.items() if k not in hidden and not k.startswith("CI")},
        )  # fmt: skip


def release(pipeline: Pipeline, origin: Path) -> str:
    """Run the job that tags a release, and bring the clone to that tag."""
    clone = pipeline.clone
    version = said([sys.executable, ".ci/next_version.py"], clone).strip()
    pipeline.run("tag-release", HARVEST_PUSH_URL=str(origin))
    said(["git", "fetch", "--quiet", "--tags", "origin"], clone)
    said(["git", "reset", "--quiet", "--hard", f"v{version}"], clone)
    assert said(["git", "rev-parse", "origin/main"], clone) == said(
        ["git", "rev-parse", "HEAD"], clone
    ), "branch and tag were not pushed together"
    assert f"\n## {version} - " in (clone / "CHANGELOG.md").read_text()
    assert [p.name for p in (clone / "changelog.d").iterdir()] == ["README.md"]
    assert "nothing to release" in said([sys.executable, ".ci/next_version.py"], clone)
    return version


def check_reports(clone: Path) -> None:
    """The test job's reports are there and hold what they should."""
    junit, coverage = (clone / "report.xml").read_text(), (clone / "coverage.xml").read_text()
    (tests,) = re.findall(r'<testsuite [^>]*tests="(\d+)"', junit)
    assert int(tests) > 0, "a JUnit report without tests"
    assert 'filename="src/harvest/' in coverage, "coverage of other files than this repository's"


# ---- the index ----------------------------------------------------------------------------------


@contextmanager
def index(scratch: Path, packages: Path, *, forward: bool = False) -> Iterator[str]:
    """A pypiserver on loopback that asks for a password, stopped afterwards; gives its address.

    forward: whether it sends those who ask for what it does not hold to the public index.
    """
    from passlib.apache import HtpasswdFile

    packages.mkdir()
    passwords = HtpasswdFile(str(scratch / "passwords"), new=True, default_scheme="apr_md5_crypt")
    passwords.set_password(USER, PASSWORD)
    passwords.save()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (scratch / "index.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port),
             "-P", scratch / "passwords", "-a", "update,list,download", "--hash-algo", "sha256",
             *(() if forward else ("--disable-fallback",)), packages],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if server.poll() is not None:
                sys.exit(f"pypiserver ended: {(scratch / 'index.log').read_text()[-2000:]}")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def state(packages: Path) -> dict[str, int]:
    """The files of the index and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in packages.iterdir()}


def check_published(packages: Path, version: str) -> dict[str, int]:
    """Everything is there in one version, the core written last; gives the index's state."""
    found = state(packages)
    plugins = len(list(ROOT.glob("plugins/*/pyproject.toml")))
    assert len(found) == 2 * (plugins + 1), f"{len(found)} files published: {sorted(found)}"
    core = {f"hpc_harvest-{version}-py3-none-any.whl", f"hpc_harvest-{version}.tar.gz"}
    assert set(sorted(found, key=found.__getitem__)[-2:]) == core, "the core was not the last"
    return found


def blocks(page: Path, heading: str) -> list[str]:
    """The shell blocks of one section of a page."""
    section = page.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


def shell(block: str, folder: Path, url: str) -> None:
    """Run a page's block of shell, with this Python as python3; no index where there is no URL."""
    scheme, _, host = url.partition("://")
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIP_FIND_LINKS": "",
    }
    if url:
        variables["HARVEST_INDEX_URL"] = f"{scheme}://{USER}:{PASSWORD}@{host}/simple"
    said(["bash", "-euo", "pipefail", "-c", block], folder, os.environ | variables)


# ---- telling ------------------------------------------------------------------------------------


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say what is done and how long it took."""
    print(f"- {name}", flush=True)
    began = time.monotonic()
    yield
    print(f"  {time.monotonic() - began:.0f} s", flush=True)


def said(words: list[str | Path], folder: Path, env: dict[str, str] | None = None) -> str:
    """Run a command and give its output; ends the program with that output when it fails."""
    done = subprocess.run(
        words, cwd=folder, env=env, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"{words[0]} {words[1]} ended with {done.returncode}:\n{done.stdout[-8000:]}")
    return done.stdout


if __name__ == "__main__":
    try:
        main()
    except Skipped as reason:
        print(f"delivery not proved here, skipped: {reason}")
