"""The next version: the last release's tag, raised by the kinds of the changelog fragments.

    python .ci/next_version.py [--dotenv FILE] [--notes FILE]

prints it, or nothing where no fragment asks for a release.  `.ci/towncrier.toml` says which kind
raises which part.  Before 1.0.0 a breaking change raises the minor part (semver.org, item 4).
`HARVEST_RELEASE_AS=major|minor|patch` raises that part whatever the fragments say: 1.0.0 is a
decision, not a sum.

The first release needs no fragment: its section stands in CHANGELOG.md already, as
`## 0.1.0 - unreleased`, and says what the version is.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from release_notes import section

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ".ci/towncrier.toml"
PARTS = ("major", "minor", "patch")

Version = tuple[int, int, int]

NUMBER = "(0|[1-9][0-9]*)"
TAG = re.compile(rf"v{NUMBER}\.{NUMBER}\.{NUMBER}")
"""The tag of a release: three whole numbers in ASCII digits, without leading zeros."""


class ReleaseError(Exception):
    """A release cannot go on; the message says why and what to do."""


def main() -> int:
    """Print the next version, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dotenv", type=Path, help="write NEXT_VERSION=... for later jobs")
    parser.add_argument("--notes", type=Path, help="write the changelog section it would get")
    arguments = parser.parse_args()
    version = next_version(ROOT)
    if arguments.dotenv:
        arguments.dotenv.write_text(f"NEXT_VERSION={version or ''}\n")
    if arguments.notes:
        arguments.notes.write_text(draft(ROOT, version) if version else "Nothing to release.\n")
    if version is None:
        print("nothing to release: changelog.d/ holds no fragment", file=sys.stderr)
    else:
        print(version)
    return 0


def next_version(root: Path) -> str | None:
    """The version that a release of this commit would get; None where there is nothing new."""
    return next(next_versions(root), None)


def next_versions(root: Path) -> Iterator[str]:
    """The version that a release of this commit would get, then those after it.

    Where a number is taken by a tag on another branch, the next one is free.
    """
    bumps = kinds(root)
    found = fragments(root, bumps)
    last = last_release(root) or (0, 0, 0)
    if not found and last > (0, 0, 0):
        return
    wish = os.environ.get("HARVEST_RELEASE_AS", "")
    if wish and wish not in PARTS:
        raise ReleaseError(f"HARVEST_RELEASE_AS is {wish!r}; use major, minor or patch")
    part = wish or min((bumps[kind] for kind in found), key=PARTS.index, default="minor")
    if last == (0, 0, 0) or (not wish and part == "major" and last[0] == 0):
        part = "minor"
    while True:
        last = raised(last, part)
        yield ".".join(map(str, last))


def kinds(root: Path) -> dict[str, str]:
    """The kinds of fragments, and the part of the version that each raises."""
    config = tomllib.loads((root / CONFIG).read_text())
    return {kind["directory"]: kind["bump"] for kind in config["tool"]["towncrier"]["type"]}


def fragments(root: Path, known: Iterable[str]) -> list[str]:
    """The kind of every fragment; raises ReleaseError for a file that is none."""
    known = set(known)
    found = []
    for path in sorted((root / "changelog.d").iterdir()):
        if path.name == "README.md":
            continue
        named = re.fullmatch(r"(?:\d+|\+[^.]+)\.([a-z]+)(?:\.\d+)?\.md", path.name)
        if named is None or named[1] not in known:
            raise ReleaseError(
                f"changelog.d/{path.name} is no fragment: call it <issue>.<kind>.md or "
                f"+<word>.<kind>.md, of kind {', '.join(sorted(known))}"
            )
        found.append(named[1])
    return found


def last_release(root: Path) -> Version | None:
    """The newest release tag (vX.Y.Z) that this commit contains."""
    listed = git(root, "tag", "--merged", "HEAD", "--list", "v*").split()
    tags = [m for name in listed if (m := TAG.fullmatch(name))]
    return max(((int(m[1]), int(m[2]), int(m[3])) for m in tags), default=None)


def raised(version: Version, part: str) -> Version:
    """The version with one part raised and the parts after it at zero."""
    major, minor, patch = version
    if part == "major":
        return major + 1, 0, 0
    if part == "minor":
        return major, minor + 1, 0
    return major, minor, patch + 1


def draft(root: Path, version: str) -> str:
    """The changelog section of a version, nothing written."""
    written = section((root / "CHANGELOG.md").read_text("utf-8"), version) or ""
    if not fragments(root, kinds(root)):
        return written
    return towncrier(root, "build", "--draft", "--version", version) + written


def towncrier(root: Path, command: str, *options: str) -> str:
    """Run towncrier with this project's configuration and give its output."""
    return run(
        root, sys.executable, "-m", "towncrier", command,
        "--config", str(root / CONFIG), "--dir", str(root), *options,
    )  # fmt: skip


def git(root: Path, *words: str) -> str:
    """Run git in the repository and give its output."""
    return run(root, "git", *words)


def run(root: Path, *words: str) -> str:
    """Run a command; raises ReleaseError with what it said when it fails."""
    done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise ReleaseError(f"{words[0]} {words[1]} failed: {said}")
    return done.stdout


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ReleaseError as error:
        sys.exit(f"next_version: {error}")
