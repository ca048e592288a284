"""A release: the changelog's new section, one commit, one tag, pushed together or not at all.

    HARVEST_PUSH_URL=... python .ci/tag_release.py

The version comes from `next_version`.  Before the push everything is built from that commit and
tag, and installed through an index on loopback (`try_install.py`): what cannot be installed gets no
tag.  The tag's own pipeline builds the same files and publishes them.  Asked again for a release
that holds this commit, it does nothing; where a tag on another branch has the number of a fix, it
takes the next one.  Without `HARVEST_PUSH_URL` the push goes to this
GitLab project with the token in `HARVEST_RELEASE_TOKEN`: a project access token that may write to
the repository.  The job's own token will not do, because GitLab starts no pipeline for its pushes.
"""

import datetime
import os
import sys
import tempfile
from urllib.parse import quote

from next_version import ROOT, ReleaseError, fragments, git, kinds, next_versions, run, towncrier

MARKER = "<!-- releases, newest first -->"


def main() -> int:
    """Make and push the release."""
    versions = next_versions(ROOT)
    version = next(versions, None)
    if version is None:
        print("nothing to release: changelog.d/ holds no fragment")
        return 0
    url = push_url()
    branch = os.environ.get("CI_COMMIT_BRANCH") or git(ROOT, "branch", "--show-current").strip()
    if not branch:
        raise ReleaseError("no branch to push to: set CI_COMMIT_BRANCH")
    while (tag := f"v{version}") and is_taken(tag, url):
        if holds_head(tag, url):
            print(f"{tag} is released already")
            return 0
        if version.endswith(".0"):
            raise ReleaseError(
                f"{tag} is a release on another branch, and {branch} lacks what it brought: "
                "merge that tag first"
            )
        print(f"{tag} is a release on another branch")
        version = next(versions)
    if git(ROOT, "tag", "--list", tag).strip():
        raise ReleaseError(f"this checkout has a tag {tag} that was not pushed: delete it")
    if MARKER not in (ROOT / "CHANGELOG.md").read_text().splitlines():
        raise ReleaseError(f"CHANGELOG.md lacks the line {MARKER!r}, below which releases go")
    if git(ROOT, "status", "--porcelain", "--untracked-files=no").strip():
        raise ReleaseError("the checkout has changes that are not committed: release a clean one")

    before = git(ROOT, "rev-parse", "HEAD").strip()
    try:
        make(version, tag)
        try_out(tag)
        run(ROOT, "git", "push", "--quiet", "--atomic", url,
            f"HEAD:refs/heads/{branch}", f"refs/tags/{tag}")  # fmt: skip
    except ReleaseError as error:
        git(ROOT, "reset", "--quiet", "--hard", before)
        git(ROOT, "tag", "--delete", *git(ROOT, "tag", "--list", tag).split())
        what = str(error).replace(url, "the repository")
        raise ReleaseError(
            f"{what}\nnothing was released; if {branch} has moved on, run the job of its newest "
            "pipeline"
        ) from None
    print(f"{tag} is tagged; its pipeline publishes it")
    return 0


def make(version: str, tag: str) -> None:
    """The release's commit and tag, in this checkout."""
    write_changelog(version)
    name = os.environ.get("GITLAB_USER_NAME", "harvest releases")
    email = os.environ.get("GITLAB_USER_EMAIL", "releases@localhost")
    who = ("-c", f"user.name={name}", "-c", f"user.email={email}")
    git(ROOT, *who, "commit", "--quiet", "--all", "-m", f"Release {version}")
    git(ROOT, *who, "tag", "--annotate", "-m", f"harvest {version}", tag)


def write_changelog(version: str) -> None:
    """The version's section: the fragments, and the text that waits for the first release."""
    changelog, waiting = ROOT / "CHANGELOG.md", f"## {version} - unreleased\n"
    if fragments(ROOT, kinds(ROOT)):
        towncrier(ROOT, "build", "--yes", "--version", version)
        dated = ""
    else:
        dated = waiting.replace("unreleased", f"{datetime.datetime.now().astimezone():%Y-%m-%d}")
    text = changelog.read_text("utf-8")
    changelog.write_text(text.replace(waiting, dated), "utf-8")


def try_out(tag: str) -> None:
    """Build the tagged commit and install what was built."""
    with tempfile.TemporaryDirectory(prefix="harvest-release-") as folder:
        print(f"building and installing {tag}", flush=True)
        run(ROOT, "bash", ".ci/build", folder)
        run(ROOT, sys.executable, ".ci/try_install.py", folder)


def push_url() -> str:
    """Where to push: a variable, or this GitLab project with a token that may write."""
    if url := os.environ.get("HARVEST_PUSH_URL"):
        return url
    token = os.environ.get("HARVEST_RELEASE_TOKEN")
    server, project = os.environ.get("CI_SERVER_URL"), os.environ.get("CI_PROJECT_PATH")
    if not token or not server or not project:
        raise ReleaseError(
            "HARVEST_RELEASE_TOKEN is not set: make a project access token with the scope "
            "write_repository and keep it as a masked, protected CI variable of that name "
            "(or set HARVEST_PUSH_URL)"
        )
    scheme, _, host = server.partition("://")
    return f"{scheme}://release:{quote(token, safe='')}@{host}/{project}.git"


def is_taken(tag: str, url: str) -> bool:
    """Whether the repository pushed to has the tag."""
    return bool(remote("ls-remote", "--tags", url, f"refs/tags/{tag}").strip())


def holds_head(tag: str, url: str) -> bool:
    """Whether the tag of the repository pushed to holds this commit."""
    remote("fetch", "--quiet", "--no-tags", url, f"refs/tags/{tag}")
    return git(ROOT, "rev-list", "--count", "FETCH_HEAD..HEAD").strip() == "0"


def remote(command: str, *words: str) -> str:
    """Ask the repository pushed to, whose address may hold a token that no message shows."""
    try:
        return git(ROOT, command, *words)
    except ReleaseError as error:
        for word in words:
            if "://" in word:
                error = ReleaseError(str(error).replace(word, "the repository"))
        raise error from None


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ReleaseError as error:
        sys.exit(f"tag_release: {error}")
