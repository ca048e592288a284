"""Prove the delivery on this machine: from a commit to `pip install hpc-harvest[all]`.

    python .ci/prove_delivery.py

A scratch clone of HEAD goes through the pipeline's own jobs, run by gitlab-ci-local without
containers, with a scratch repository to push to and a package index on loopback that asks for a
password, which stand for GitLab's:

1. `tag-release` of HEAD: one push with branch and tag;
2. the tag's pipeline: `lint`, `test` (a few tests), `build`, `try-release`, `third-party`, `docs`,
   `notes`, `publish`, `try-published`;
3. all of that again, which changes nothing: no push, no upload;
4. `publish` on an index that a broken publish left half full;
5. `tag-release` where a tag on another branch has the next number: it takes the one after;
6. `tag-release` of a commit that builds but cannot harvest: nothing is pushed, nothing uploaded;
7. an installation from a folder of wheels, without any index.

Nothing outside the scratch folder is written, and the index is stopped at the end.  What needs a
GitLab is not proved: services' containers, Pages, the job `release`.

Where git, a checkout, node, npm, rsync or npm's registry are not to be had it says so and ends
with 0.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index import PASSWORD, USER, index, public

ROOT = Path(__file__).resolve().parents[1]
RUNNER = "gitlab-ci-local@4.72.0"  # the newest that node 20 runs
QUICK = "tests/test_record.py tests/test_model_schema.py"
"""Tests for the job's sake; all of them run elsewhere."""

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
JOBS = ("lint", f"test: [{PYTHON}]", "build", "try-release", "third-party", "docs", "notes",
        "publish", "try-published")  # fmt: skip
"""The tag's pipeline, in the order of its stages."""


class Skipped(Exception):
    """The proof cannot be had on this machine; the message says why."""


def main() -> None:
    """Run the proof in a scratch folder."""
    with tempfile.TemporaryDirectory(prefix="harvest-delivery-") as name:
        scratch = Path(name)
        packages, origin = scratch / "packages", scratch / "origin.git"
        packages.mkdir()
        pipeline = Pipeline(install_runner(scratch), scratch_clone(scratch))
        with index(packages, passwords=scratch / "passwords", forward=public()) as url:
            pipeline.variables |= {
                "HARVEST_PUBLISH_URL": url,
                "HARVEST_PUSH_URL": str(origin),
                "CI_JOB_TOKEN": PASSWORD,
                "PYTEST_ARGS": QUICK,
            }
            with step("tag-release: the next version, tried, then changelog and tag in one push"):
                version = release(pipeline)
            with step(f"the pipeline of v{version}: {', '.join(JOBS)}"):
                shown = run_all(pipeline, version)
            check_reports(pipeline.clone)
            published, references = check_published(packages, version), refs(origin)
            for way in os.environ.get("HARVEST_TRY_WITH", "pip uv").split():
                installed = f"hpc-harvest[all] {version} installed by {way} and harvested"
                assert shown.count(installed) == 2, f"not tried and installed by {way}"

            with step("everything again: nothing is pushed, nothing uploaded"):
                assert "nothing to release" in pipeline.run("tag-release")
                run_all(pipeline, version)
            assert refs(origin) == references, "a second run pushed something"
            assert state(packages) == published, "a second run changed the index"

            with step("publish after a half-done publish"):
                finish_half_done(pipeline, packages, published, version)

            with step("tag-release beside a fix that was tagged on another branch"):
                release_beside_a_fix(pipeline, version)
            with step("tag-release of what builds but cannot harvest: nothing is left behind"):
                before = state(packages)
                fail_to_release(pipeline, origin)
            assert state(packages) == before, "a failed release uploaded something"

            gather, install = blocks(ROOT / "containers" / "README.md", "A machine without network")
            with step("a folder of wheels, gathered as containers/README.md shows"):
                shell(gather, scratch, url)
        with step("installed from it without any index, and a harvest"):
            install_offline(install, scratch, pipeline.clone, version)
    print("delivery proved: a release, the same again, a failed and a half-done one, installed")


def release_beside_a_fix(pipeline: Pipeline, version: str) -> None:
    """Release where a tag of another branch has the number that is due."""
    clone, (major, minor, patch) = pipeline.clone, map(int, version.split("."))
    due, after = (f"{major}.{minor}.{patch + step}" for step in (1, 2))
    said([*GIT, "checkout", "--quiet", "-B", "fixes"], clone)
    said([*GIT, "commit", "--quiet", "--allow-empty", "-m", "Mend the release"], clone)
    said([*GIT, "push", "--quiet", "origin", "fixes", f"HEAD:refs/tags/v{due}"], clone)
    said([*GIT, "checkout", "--quiet", "main"], clone)
    said([*GIT, "reset", "--quiet", "--hard", "origin/main"], clone)
    (clone / "changelog.d" / "+beside.fixed.md").write_text("It works beside others, too.\n")
    said([*GIT, "add", "--all"], clone)
    said([*GIT, "commit", "--quiet", "-m", "Something else to release"], clone)
    said([*GIT, "push", "--quiet", "origin", "main"], clone)
    shown = pipeline.run("tag-release")
    assert f"v{due} is a release on another branch" in shown, shown[-4000:]
    said(["git", "fetch", "--quiet", "--tags", "origin"], clone)
    assert said(["git", "rev-parse", f"v{after}^{{commit}}"], clone) == said(
        ["git", "rev-parse", "origin/main"], clone
    ), "the branch's head is not the release after the fix"
    said([*GIT, "reset", "--quiet", "--hard", "origin/main"], clone)


def fail_to_release(pipeline: Pipeline, origin: Path) -> None:
    """Try to release a commit whose program ends before it starts."""
    clone, before = pipeline.clone, refs(origin)
    said([*GIT, "checkout", "--quiet", "main"], clone)
    (clone / "changelog.d" / "+broken.fixed.md").write_text("Nothing runs any more.\n")
    program = clone / "src" / "harvest" / "__main__.py"
    program.write_text('raise SystemExit("a release that does not run")\n')
    said([*GIT, "add", "--all"], clone)
    said([*GIT, "commit", "--quiet", "-m", "Break it"], clone)
    failed = pipeline.run("tag-release")  # it may fail: a pipeline does not wait for it
    assert "a release that does not run" in failed, failed[-4000:]
    assert "nothing was released" in failed, failed[-4000:]
    assert refs(origin) == before, "a failed release pushed something"
    said([*GIT, "reset", "--quiet", "--hard", "HEAD^"], clone)


def run_all(pipeline: Pipeline, version: str) -> str:
    """Run the tag's pipeline on the tag; gives what it printed."""
    shown = pipeline.run(*JOBS, CI_COMMIT_TAG=f"v{version}")
    ended = re.findall(r"\] (\S+) +finished in ", shown)
    assert ended.index("try-release") < ended.index("publish"), f"published untried: {ended}"
    return shown


def finish_half_done(
    pipeline: Pipeline, packages: Path, published: dict[str, int], version: str
) -> None:
    """Publish to an index that holds the first files of a release only."""
    kept = dict(sorted(published.items(), key=lambda item: item[1])[:3])
    for path in packages.iterdir():
        if path.name not in kept:
            path.unlink()
    pipeline.run("publish", CI_COMMIT_TAG=f"v{version}")
    again = check_published(packages, version)
    assert set(again) == set(published), "the half-done publish was not completed"
    assert kept.items() <= again.items(), "what was there already was uploaded again"


def install_offline(block: str, scratch: Path, clone: Path, version: str) -> None:
    """Install as a page shows from a folder of wheels, and harvest."""
    shell(block, scratch, "")
    harvest = scratch / "harvest-env" / "bin" / "harvest"
    assert said([harvest, "--version"], scratch).strip() == f"harvest {version}"
    run = clone / "examples" / "dask-run"
    said([harvest, "run", "-s", f"mofka-dask:{run}", "-k", "parquet:out"], scratch)
    said([harvest, "verify", "out"], scratch)


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


GIT = ["git", "-c", "user.name=proof", "-c", "user.email=proof@localhost"]


def scratch_clone(scratch: Path) -> Path:
    """A clone of HEAD on the branch main, with a repository of its own to push to."""
    if said(["git", "status", "--porcelain"], ROOT).strip():
        print("note: changes that are not committed take no part in the proof")
    clone, origin = scratch / "clone", scratch / "origin.git"
    said(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], scratch)
    said([*GIT, "checkout", "--quiet", "-B", "main"], clone)
    (clone / "changelog.d" / "+proof.fixed.md").write_text("Releases are proved before they are.\n")
    said([*GIT, "add", "changelog.d"], clone)
    said([*GIT, "commit", "--quiet", "-m", "Something to release"], clone)
    said(["git", "init", "--quiet", "--bare", "--initial-branch=main", origin], scratch)
    said([*GIT, "remote", "set-url", "origin", origin], clone)
    said([*GIT, "push", "--quiet", "--tags", "origin", "main"], clone)
    return clone


class Pipeline:
    """The jobs of .gitlab-ci.yml in a clone, run in its shell, in the order of their stages."""

    def __init__(self, runner: Path, clone: Path) -> None:
        self.runner, self.clone = runner, clone
        self.variables = {  # the machine's cache: what is downloaded already is not again
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
        }

    def run(self, *jobs: str, **variables: str) -> str:
        """Run jobs and give what they printed; ends the program when they end otherwise."""
        given = [f"{key}={value}" for key, value in (self.variables | variables).items()]
        hidden = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
        return said(
            [self.runner, "--force-shell-executor", "--shell-isolation",
             "--concurrency", "4", "--color=false", "--timestamps",
             *(word for pair in given for word in ("--variable", pair)), *jobs],
            self.clone,
            {k: v for k, v in os.environ.items() if k not in hidden and not k.startswith("CI")},
        )  # fmt: skip


def release(pipeline: Pipeline) -> str:
    """Run the job that tags a release, and bring the clone to that tag."""
    clone = pipeline.clone
    version = said([sys.executable, ".ci/next_version.py"], clone).strip()
    pipeline.run("tag-release")
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


# ---- what is there ------------------------------------------------------------------------------


def refs(repository: Path) -> str:
    """The branches and tags of a repository and where they are."""
    return said(["git", "show-ref"], repository)


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
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIP_FIND_LINKS": "",
    }
    if url:
        scheme, _, host = url.partition("://")
        variables["HARVEST_INDEX_URL"] = f"{scheme}://{USER}:{PASSWORD}@{host}/simple"
    said(["bash", "-euo", "pipefail", "-c", block], folder, os.environ | variables)


# ---- saying ------------------------------------------------------------------------------------


@contextmanager
def step(name: str) -> Iterator[None]:
    """Say what is done and how long it took."""
    print(f"- {name}", flush=True)
    began = time.monotonic()
    yield
    print(f"  {time.monotonic() - began:.0f} s", flush=True)


def said(words: list[str | Path], folder: Path, env: dict[str, str] | None = None) -> str:
    """Run a command and give its output; ends the program with that when it ends otherwise."""
    done = subprocess.run(
        words, cwd=folder, env=env, text=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{words[0]} {words[-1]} ended with {done.returncode}:\n{done.stdout[-8000:]}")
    return done.stdout


if __name__ == "__main__":
    try:
        main()
    except Skipped as reason:
        print(f"delivery not proved here, skipped: {reason}")
