"""Build the core and all plugins with one version and bounds that hold them together.

    python .ci/build_all.py dist

The version is hatch-vcs's reading of the git history: the tag itself on a tagged commit.  It is
read once and given to all builds.  What is built is a copy of the working tree without what git
ignores, in which each requirement on another distribution of ours gets bounds: this version or a
later one of the same minor version.  So pip never pairs a plugin with an older core or with a newer
one that it was not tried with, in whatever state of publishing it finds an index.  Licence,
classifiers, addresses and README are completed too (`describe.py`).
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import tomlkit
from describe import describe
from hatchling.build import build_sdist, build_wheel
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
OURS = "hpc-harvest"


def main(out: Path) -> None:
    """Build everything into a folder, which must hold no older builds."""
    out.mkdir(parents=True, exist_ok=True)
    if old := sorted(p.name for p in out.iterdir()):
        sys.exit(f"build: {out} holds {old[0]} already: give an empty folder")
    version = project_version()
    os.environ["SETUPTOOLS_SCM_PRETEND_VERSION"] = str(version)
    with tempfile.TemporaryDirectory(prefix="harvest-build-") as scratch:
        tree = Path(scratch) / "tree"
        copy_tree(tree)
        projects = [tree, *sorted(p.parent for p in tree.glob("plugins/*/pyproject.toml"))]
        for project in projects:
            describe(tree, project)
            bind(project / "pyproject.toml", version)
            build(project, out)
    check(out, version, len(projects))
    twine = [sys.executable, "-m", "twine", "check", "--strict", *sorted(out.iterdir())]
    subprocess.run(twine, check=True)
    print(f"{len(projects)} distributions of version {version} in {out}")


def build(project: Path, out: Path) -> None:
    """Build one project's source distribution, and its wheel from that."""
    with contextlib.chdir(project):
        archive = out / build_sdist(str(out))
    with tempfile.TemporaryDirectory(prefix="harvest-wheel-") as folder:
        shutil.unpack_archive(archive, folder, filter="data")
        with contextlib.chdir(Path(folder) / archive.name.removesuffix(".tar.gz")):
            build_wheel(str(out))


def project_version() -> Version:
    """The version of this checkout; ends the program where it cannot be the right one."""
    shallow = said("git", "rev-parse", "--is-shallow-repository")
    if shallow == "true":
        sys.exit("build: the clone is shallow, so its version is unknown: fetch the full history")
    version = Version(said(sys.executable, "-m", "hatchling", "version"))
    tag = os.environ.get("CI_COMMIT_TAG", "")
    if tag and tag != f"v{version}":
        sys.exit(f"build: the tag is {tag}, but this checkout is version {version}")
    return version


def said(*words: str) -> str:
    """The last line a command prints."""
    done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip().splitlines()[-1]


def copy_tree(tree: Path) -> None:
    """Copy the files of the working tree that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    for name in map(os.fsdecode, filter(None, listed.split(b"\0"))):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


def bind(pyproject: Path, version: Version) -> None:
    """Give the requirements on other distributions of ours their bounds."""
    document = tomlkit.parse(pyproject.read_text())
    project = document["project"]
    lists = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    for requirements in lists:
        for place, text in enumerate(requirements):
            wanted = Requirement(text)
            ours = wanted.name == OURS or wanted.name.startswith(f"{OURS}-")
            if ours and wanted.name != project["name"] and not wanted.specifier:
                requirements[place] = bound(wanted, version)
    pyproject.write_text(tomlkit.dumps(document))


def bound(requirement: Requirement, version: Version) -> str:
    """The requirement with its bounds."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{extras}{bounds(version)}{marker}"


def bounds(version: Version) -> SpecifierSet:
    """This version, which may have no local part there, or a later one of its minor version."""
    return SpecifierSet(f">={version.public},<{version.major}.{version.minor + 1}")


def check(out: Path, version: Version, projects: int) -> None:
    """See in the built wheels that the version is one and the bounds are there."""
    wheels = sorted(out.glob("*.whl"))
    if len(wheels) != projects or len(list(out.glob("*.tar.gz"))) != projects:
        sys.exit(f"build: {projects} projects gave {len(wheels)} wheels: {out}")
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            metadata = HeaderParser().parsestr(archive.read(name).decode())
        if Version(metadata["Version"]) != version:
            sys.exit(f"build: {wheel.name} is not version {version}")
        for wanted in map(Requirement, metadata.get_all("Requires-Dist", [])):
            other = wanted.name.startswith(OURS) and wanted.name != metadata["Name"]
            if other and wanted.specifier != bounds(version):
                sys.exit(f"build: {wheel.name} requires {wanted} without this version's bounds")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
