"""Publish built distributions: plugins first, the core last, and only what is missing.

    HARVEST_PUBLISH_URL=... python .ci/publish.py dist

The index is asked first what it holds: a file that is there with the same SHA-256 is left alone,
one with other contents stops everything before the first upload.  (twine's own --skip-existing
knows the public index alone, and GitLab answers a repeated upload with a plain 400.)  So a publish
that ended half-way is simply run again.  The core comes last: whoever sees a new core sees the
plugins that its extras name.  Afterwards the index is read again, and every file must be there.
Only a release is published: its version is that of the tag in `CI_COMMIT_TAG`.

`HARVEST_PUBLISH_USER` and `HARVEST_PUBLISH_PASSWORD` default to GitLab's job token.
"""

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests
from next_version import TAG
from packaging.utils import parse_sdist_filename, parse_wheel_filename
from packaging.version import Version
from pypi_simple import ACCEPT_ANY, ProjectPage

CORE = "hpc-harvest"
TRIES = 5
"""Readings of the index until an upload must show, a second and more apart."""


def main(folder: Path) -> None:
    """Publish a folder's distributions."""
    groups, version = distributions(folder)
    refuse_unreleased(version)
    index = Index(
        setting("HARVEST_PUBLISH_URL").rstrip("/"),
        os.environ.get("HARVEST_PUBLISH_USER") or "gitlab-ci-token",
        os.environ.get("HARVEST_PUBLISH_PASSWORD") or setting("CI_JOB_TOKEN"),
    )
    missing = {name: index.missing(name, files) for name, files in groups.items()}
    for name, files in groups.items():
        for file in files:
            print(f"{'upload' if file in missing[name] else 'is there'}  {file.name}", flush=True)
        if missing[name]:
            index.upload(missing[name])
    for name, files in groups.items():
        for attempt in range(TRIES):
            if not (absent := index.missing(name, files)):
                break
            time.sleep(1 + attempt)
        else:
            sys.exit(f"publish: {absent[0].name} was uploaded, but the index does not list it")
    print(f"published: {sum(map(len, groups.values()))} files of {len(groups)} distributions")


def setting(name: str) -> str:
    """An environment variable that must be set."""
    value = os.environ.get(name, "")
    if not value:
        sys.exit(f"publish: {name} is not set")
    return value


def distributions(folder: Path) -> tuple[dict[str, list[Path]], Version]:
    """The files of a folder by distribution, in the order of publishing, and their version."""
    groups: dict[str, list[Path]] = {}
    versions = set()
    for file in sorted(folder.iterdir()):
        if file.suffix == ".whl":
            name, version = parse_wheel_filename(file.name)[:2]
        else:
            name, version = parse_sdist_filename(file.name)
        groups.setdefault(str(name), []).append(file)
        versions.add(version)
    if CORE not in groups:
        sys.exit(f"publish: {folder} holds no distribution {CORE}: build everything first")
    if len(versions) != 1:
        several = ", ".join(map(str, sorted(versions)))
        sys.exit(f"publish: {folder} holds several versions: {several}")
    order = sorted(groups, key=lambda name: (name == CORE, name))
    return {name: groups[name] for name in order}, versions.pop()


def refuse_unreleased(version: Version) -> None:
    """End the program for a version that no release has, or a release other than the tag's."""
    if version.is_devrelease or version.local:
        sys.exit(f"publish: {version} is a version between releases: build a tagged commit")
    tag = setting("CI_COMMIT_TAG")
    if not TAG.fullmatch(tag):
        sys.exit(
            f"publish: {tag!r} is no release's tag (v1.2.3): make tags with the job tag-release"
        )
    if tag != f"v{version}":
        sys.exit(f"publish: these are builds of {version}, but CI_COMMIT_TAG is {tag}")


class Index:
    """A package index: what it lists, and uploads to it."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self.user, self.password = user, password
        self.session = requests.Session()
        self.session.auth = (user, password)

    def missing(self, name: str, files: list[Path]) -> list[Path]:
        """The files that the index lacks; ends the program where it has others of that name."""
        listed = self.listed(name)
        for file in files:
            if file.name not in listed:
                continue
            there = listed[file.name]
            if there is None:
                sys.exit(f"publish: the index gives no SHA-256 for {file.name}: it may be another")
            if there != hashlib.sha256(file.read_bytes()).hexdigest():
                sys.exit(
                    f"publish: the index holds another {file.name}; a version is published once: "
                    "release a new one, or delete that file there if nobody has it"
                )
        return [file for file in files if file.name not in listed]

    def listed(self, name: str) -> dict[str, str | None]:
        """The files of a distribution and their SHA-256, where the index names it."""
        response = self.page(f"{self.url}/simple/{name}/")
        if response is None:
            return {}
        page = ProjectPage.from_response(response, name)
        return {package.filename: package.digests.get("sha256") for package in page.packages}

    def page(self, url: str) -> requests.Response | None:
        """A page of this index; None for what it does not have.

        GitLab sends clients that ask for an unknown name on to the public index: a name that
        another server answers for is unknown here.
        """
        for _ in range(5):
            response = self.session.get(
                url, headers={"Accept": ACCEPT_ANY}, allow_redirects=False, timeout=60
            )
            if response.status_code == 404:
                return None
            if not response.is_redirect:
                break
            target = urljoin(url, response.headers["location"])
            if urlsplit(target).hostname != urlsplit(self.url).hostname:
                return None
            url = target
        if response.status_code != 200:
            sys.exit(f"publish: {url} answers {response.status_code} {response.reason}")
        return response

    def upload(self, files: list[Path]) -> None:
        """Upload files, the user's name and password out of sight of the process list."""
        done = subprocess.run(
            [sys.executable, "-m", "twine", "upload", "--non-interactive",
             "--disable-progress-bar", *map(str, files)],
            env=os.environ | {"TWINE_REPOSITORY_URL": self.url, "TWINE_USERNAME": self.user,
                              "TWINE_PASSWORD": self.password},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(
                f"publish: uploading {files[0].name} failed; run this again for what is missing\n"
                + done.stderr.strip()[-2000:]
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
