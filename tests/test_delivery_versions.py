"""Versions are computed from changelog fragments; a release is one push or nothing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = "# Changelog\n\nAll of it.\n\n<!-- releases, newest first -->\n"

BUILD = """
git describe --exact-match > "$1/version"
test -z "${BROKEN_BUILD-}" || { echo "zinc does not build"; exit 1; }
"""
TRY = """
import os, pathlib, sys
print(*(path.name for path in pathlib.Path(sys.argv[1]).iterdir()))
sys.exit(os.environ.get("BROKEN_INSTALL"))
"""
"""In place of building and installing everything; a variable makes it fail."""


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A repository with the release scripts, a first release v1.4.2, and nothing new."""
    folder = tmp_path_factory.mktemp("released") / "repository"
    (folder / ".ci").mkdir(parents=True)
    for name in ("next_version.py", "tag_release.py", "release_notes.py", "towncrier.toml"):
        shutil.copy(ROOT / ".ci" / name, folder / ".ci")
    (folder / ".ci" / "build").write_text(BUILD)
    (folder / ".ci" / "try_install.py").write_text(TRY)
    (folder / "changelog.d").mkdir()
    (folder / "changelog.d" / "README.md").write_text("How to.\n")
    (folder / "CHANGELOG.md").write_text(CHANGELOG)
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    git(folder, "tag", "v1.4.2")
    return folder


@pytest.fixture
def repository(released, tmp_path):
    """A copy of it, for one test to work in."""
    return shutil.copytree(released, tmp_path / "repository")


def commit(folder: Path, **fragments: str) -> None:
    for name, text in fragments.items():
        kind, _, word = name.partition("_")
        (folder / "changelog.d" / f"+{word or kind}.{kind}.md").write_text(text + "\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "Work")


@pytest.fixture
def origin(repository, tmp_path):
    """Where the repository is pushed to."""
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "origin.git")
    return tmp_path / "origin.git"


def script(folder: Path, name: str, *arguments: str, **variables: str):
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder.parent)}
    return subprocess.run(
        [sys.executable, f".ci/{name}.py", *arguments], cwd=folder, env=clean | variables,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kinds", "version"),
    [
        (["fixed", "security"], "1.4.3"),
        (["fixed", "added"], "1.5.0"),
        (["changed"], "1.5.0"),
        (["deprecated"], "1.5.0"),
        (["fixed", "added", "breaking"], "2.0.0"),
        (["removed"], "2.0.0"),
    ],
)
def test_the_strongest_kind_of_change_decides(repository, kinds, version):
    commit(repository, **dict.fromkeys(kinds, "Something."))
    assert script(repository, "next_version").stdout == f"{version}\n"


def test_nothing_new_is_nothing_to_release(repository):
    done = script(repository, "next_version", "--dotenv", "next.env")
    assert (done.stdout, done.returncode) == ("", 0)
    assert (repository / "next.env").read_text() == "NEXT_VERSION=\n"


def test_before_1_0_a_breaking_change_raises_the_minor_part(repository):
    git(repository, "tag", "--delete", "v1.4.2")
    git(repository, "tag", "v0.3.1")
    commit(repository, breaking="Everything is called differently.")
    assert script(repository, "next_version").stdout == "0.4.0\n"
    # and 1.0.0 is a decision
    asked = script(repository, "next_version", HARVEST_RELEASE_AS="major")
    assert asked.stdout == "1.0.0\n"


def test_the_first_version_is_0_1_0(repository):
    git(repository, "tag", "--delete", "v1.4.2")
    commit(repository, fixed="It works.")
    assert script(repository, "next_version").stdout == "0.1.0\n"


FIRST = "## 0.1.0 - unreleased\n\nA harvester of stone tablets.\n"


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"added": "A sink for clay."}], ids=["none", "one"])
def test_the_first_release_says_what_it_is_without_any_fragment(repository, tmp_path, changes):
    if changes:
        pytest.importorskip("towncrier")
    # given a project without a release, whose changelog says what the first one is
    git(repository, "tag", "--delete", "v1.4.2")
    (repository / "CHANGELOG.md").write_text(f"{CHANGELOG}\n{FIRST}")
    commit(repository, **changes)
    origin = tmp_path / "origin.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(origin))
    shown = script(repository, "next_version", "--notes", "notes.md")
    assert (shown.stdout, shown.stderr) == ("0.1.0\n", "")
    (repository / "notes.md").rename(tmp_path / "notes.md")

    # when released
    done = script(repository, "tag_release", HARVEST_PUSH_URL=str(origin))

    # then its section has a date, and is the text of the release, after what fragments add
    assert done.returncode == 0, done.stderr
    changelog = git(origin, "show", "v0.1.0:CHANGELOG.md")
    assert len(re.findall(r"^## 0\.1\.0 - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)) == 1
    assert changelog.count("## 0.1.0") == 1
    notes = script(repository, "release_notes", "v0.1.0").stdout
    assert notes.endswith("A harvester of stone tablets.\n")
    for text in ("A harvester of stone tablets.", *changes.values()):
        assert text in notes
        assert text in (tmp_path / "notes.md").read_text()
    # and there is nothing more to release
    assert script(repository, "next_version").stdout == ""


def test_tags_of_other_branches_and_of_other_forms_do_not_count(repository):
    git(repository, "switch", "--quiet", "--create", "other")
    commit(repository)
    git(repository, "tag", "v3.0.0")
    git(repository, "switch", "--quiet", "main")
    for tag in ("v2-draft", "v01.9.0", "v\u0663.0.0", "v1.9", "v1.9.0.post1", "v1.9.0rc1"):
        git(repository, "tag", tag)
    commit(repository, fixed="Something.")
    assert script(repository, "next_version").stdout == "1.4.3\n"


def test_the_fragments_of_this_project_have_a_kind():
    assert script(ROOT, "next_version").returncode == 0


def test_a_fragment_of_no_kind_is_refused(repository):
    (repository / "changelog.d" / "12.typo.md").write_text("Lost?\n")
    done = script(repository, "next_version")
    assert done.returncode == 1
    assert "changelog.d/12.typo.md is no fragment" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_release_is_changelog_commit_and_tag_in_one_push(repository, origin):
    pytest.importorskip("towncrier")
    # given a repository to push to, and two changes
    commit(repository, added="A sink for stone tablets.", fixed="Tablets no longer crack.")
    git(repository, "push", "--quiet", str(origin), "main")

    # when released
    done = script(repository, "tag_release", HARVEST_PUSH_URL=str(origin))

    # then the tag holds the changelog, without the fragments, and is the branch's head
    assert done.returncode == 0, done.stderr
    changelog = git(origin, "show", "v1.5.0:CHANGELOG.md")
    assert changelog.startswith("# Changelog\n\nAll of it.\n")
    assert "\n### Added\n\n- A sink for stone tablets.\n" in changelog
    assert git(origin, "ls-tree", "--name-only", "v1.5.0", "changelog.d/").split() == [
        "changelog.d/README.md"
    ]
    assert git(origin, "rev-parse", "main") == git(origin, "rev-parse", "v1.5.0^{commit}")
    notes = script(repository, "release_notes", "v1.5.0").stdout
    assert notes.startswith("### Added\n\n- A sink")
    assert "Tablets no longer crack." in notes

    # and asked again, from the old commit or the new one, it does nothing
    again = script(repository, "tag_release", HARVEST_PUSH_URL=str(origin))
    assert "nothing to release" in again.stdout
    git(repository, "tag", "--delete", "v1.5.0")
    git(repository, "reset", "--quiet", "--hard", "HEAD^")
    again = script(repository, "tag_release", HARVEST_PUSH_URL=str(origin))
    assert (again.returncode, again.stdout) == (0, "v1.5.0 is released already\n")


@pytest.fixture
def hotfix(repository, origin):
    """Where to push to, which has a release of a fix of v1.4.2 on another branch."""
    git(repository, "switch", "--quiet", "--create", "1.4")
    commit(repository)
    git(repository, "tag", "v1.4.3")
    git(repository, "push", "--quiet", str(origin), "1.4", "v1.4.3")
    git(repository, "tag", "--delete", "v1.4.3")
    git(repository, "switch", "--quiet", "main")
    return origin


@pytest.mark.slow
def test_the_number_of_a_fix_on_another_branch_is_left_out(repository, hotfix):
    pytest.importorskip("towncrier")
    commit(repository, fixed="Something else.")
    git(repository, "push", "--quiet", str(hotfix), "main")

    done = script(repository, "tag_release", HARVEST_PUSH_URL=str(hotfix))

    assert done.returncode == 0, done.stderr
    assert "v1.4.3 is a release on another branch" in done.stdout
    assert git(hotfix, "rev-parse", "main") == git(hotfix, "rev-parse", "v1.4.4^{commit}")
    assert "Something else." in git(hotfix, "show", "v1.4.4:CHANGELOG.md")
    assert git(hotfix, "rev-parse", "v1.4.3^{commit}") == git(hotfix, "rev-parse", "1.4")


@pytest.mark.slow
def test_a_minor_version_of_another_branch_is_merged_first(repository, hotfix):
    pytest.importorskip("towncrier")
    git(hotfix, "tag", "v1.5.0", "1.4")
    commit(repository, added="A sink for stone tablets.")
    before = git(hotfix, "show-ref")

    done = script(repository, "tag_release", HARVEST_PUSH_URL=str(hotfix))

    assert done.returncode == 1
    assert "v1.5.0 is a release on another branch" in done.stderr
    assert "merge that tag first" in done.stderr
    assert git(hotfix, "show-ref") == before


@pytest.mark.slow
def test_a_branch_that_moved_on_releases_nothing(repository, origin, tmp_path):
    pytest.importorskip("towncrier")
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(origin), str(other))
    commit(other)
    git(other, "push", "--quiet", "origin", "main")
    commit(repository, fixed="Something.")

    done = script(repository, "tag_release", HARVEST_PUSH_URL=str(origin))

    assert done.returncode == 1
    assert "nothing was released" in done.stderr
    assert "v1.4.3" not in git(origin, "tag", "--list")
    assert "v1.4.3" not in git(repository, "tag", "--list")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["BROKEN_BUILD", "BROKEN_INSTALL"])
def test_what_cannot_be_built_and_installed_leaves_no_trace(repository, origin, what):
    pytest.importorskip("towncrier")
    # given a change that breaks the build or the installation
    commit(repository, fixed="Something.")
    before = [git(folder, "show-ref") for folder in (origin, repository)]

    done = script(
        repository, "tag_release", HARVEST_PUSH_URL=str(origin), **{what: "zinc does not build"}
    )

    # then nothing was pushed, and the checkout is as it was
    assert done.returncode == 1
    assert "zinc does not build" in done.stderr
    assert "nothing was released" in done.stderr
    assert [git(folder, "show-ref") for folder in (origin, repository)] == before
    assert git(repository, "status", "--porcelain", "--untracked-files=no") == ""

    # and once it is mended the same version is released
    assert script(repository, "tag_release", HARVEST_PUSH_URL=str(origin)).returncode == 0
    assert "v1.4.3" in git(origin, "tag", "--list")


def test_the_token_is_asked_for_and_never_shown(repository):
    commit(repository, fixed="Something.")
    done = script(repository, "tag_release", CI_COMMIT_BRANCH="main")
    assert done.returncode == 1
    assert "HARVEST_RELEASE_TOKEN is not set" in done.stderr

    done = script(
        repository, "tag_release", CI_COMMIT_BRANCH="main", HARVEST_RELEASE_TOKEN="s3cret/1",
        CI_SERVER_URL="http://127.0.0.1:9", CI_PROJECT_PATH="group/harvest",
    )  # fmt: skip
    assert done.returncode == 1
    assert "s3cret" not in done.stdout + done.stderr


def test_a_version_without_a_section_has_no_notes(repository):
    done = script(repository, "release_notes", "v9.9.9")
    assert done.returncode == 1
    assert "no section for 9.9.9" in done.stderr
