"""What every distribution says of itself on a package's page, completed while it is built.

In the source tree the core's `pyproject.toml` alone has classifiers and the licence's file, and
READMEs have links for a checkout.  What is built (`build_all.py`) has for each distribution:

- the licence's file, and the core's classifiers;
- the project's addresses, where `CI_PROJECT_URL` (and `CI_PAGES_URL`) name them;
- a README whose links lead to the project's pages, or are plain text without an address.
"""

import os
import shutil
from pathlib import Path

import tomlkit
from links import Link, changed, in_project

LICENCE = "LICENSE"


def describe(tree: Path, folder: Path) -> None:
    """Complete the project in a folder of a copied tree."""
    core = tomlkit.parse((tree / "pyproject.toml").read_text())["project"]
    document = tomlkit.parse((folder / "pyproject.toml").read_text())
    project = document["project"]
    if folder != tree:
        shutil.copy2(tree / LICENCE, folder)
        project["license-files"] = [LICENCE]
        project["classifiers"] = core["classifiers"]
    if urls := addresses():
        project["urls"] = urls
    (folder / "pyproject.toml").write_text(tomlkit.dumps(document))
    readme = folder / "README.md"
    readme.write_text(shown(readme.read_text("utf-8"), tree, folder), "utf-8")


def addresses() -> dict[str, str]:
    """The project's addresses, as far as the pipeline's variables name them."""
    project = os.environ.get("CI_PROJECT_URL")
    if not project:
        return {}
    return {
        "Documentation": os.environ.get("CI_PAGES_URL") or f"{project}/-/tree/HEAD/docs",
        "Source": project,
        "Issues": f"{project}/-/issues",
        "Changelog": f"{project}/-/blob/HEAD/CHANGELOG.md",
    }


def shown(markdown: str, tree: Path, folder: Path) -> str:
    """A README with its links made those of a package's page, where headings have no names."""

    def replaced(link: Link) -> str:
        target = Path(os.path.normpath(folder / (link[2] or "README.md")))
        path = target.relative_to(tree).as_posix()
        return in_project(link, path, folder=target.is_dir())

    return changed(markdown, replaced)
