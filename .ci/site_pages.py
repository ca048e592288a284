"""For mkdocs: plugins, notebooks and the reference as pages, and links between pages and files.

Plugins are listed, with what they say of themselves, by the keyword `harvest-plugin` of their
`pyproject.toml`: those of ours and the examples.  A registry of GitLab cannot be searched for it.
The README of each of ours is a page.  Each notebook of ``docs/notebooks`` is executed, and becomes
a page with its outputs.  The pages of the reference that a checkout lacks are written by
`docs_reference` from the installed plugins.

Links are written for a checkout, where ``../examples/README.md`` leads to the file.  On the site a
link to a page leads to that page.  A link to another file leads to the project's page of it where
the pipeline says which project this is, and is plain text elsewhere.
"""

import os
import posixpath
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from links import ROOT, Link, changed, in_project
from mkdocs.structure.files import File

from docs_reference import IN_TREE, PAGES, notebooks

KEYWORD = "harvest-plugin"

_PLUGINS = """\
# Plugins

Every distribution here has the keyword `harvest-plugin` in its metadata, and is installed like
[harvest itself](../docs/how-to/install.md). `harvest plugins` lists what is installed.

| plugin | distribution | what it is |
|---|---|---|
"""


def plugin_list() -> str:
    """The page that lists the plugins of this repository, written as if it lay in `plugins`."""
    rows = []
    for path in sorted(ROOT.glob("plugins/*/pyproject.toml")) + sorted(
        ROOT.glob("examples/plugins/*/pyproject.toml")
    ):
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        if KEYWORD not in project.get("keywords", []):
            continue
        readme = posixpath.relpath(path.with_name("README.md"), ROOT / "plugins")
        names = ", ".join(f"`{name}`" for name in project["entry-points"]["harvest"])
        rows.append(f"| [{names}]({readme}) | `{project['name']}` | {project['description']} |\n")
    return _PLUGINS + "".join(rows)


def _readmes() -> dict[Path, str]:
    """The address on the site of each file outside ``docs`` that is a page of it."""
    plugins = sorted((ROOT / "plugins").glob("*/README.md"))
    return {ROOT / "README.md": "index.md"} | {
        path: f"plugins/{path.parent.name}.md" for path in plugins
    }


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """The files of the site, with the plugins' READMEs, the reference and the notebooks."""
    files.append(File.generated(config, "plugins/index.md", content=plugin_list()))
    for path, address in _readmes().items():
        if path.parent != ROOT:
            files.append(File.generated(config, address, content=path.read_text("utf-8")))
    for name in PAGES.keys() - set(IN_TREE):
        files.append(File.generated(config, f"reference/{name}.md", content=PAGES[name]()))
    for path in notebooks.NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            executed = notebooks.executed(path, Path(folder))
        text = notebooks.page(executed, path.name)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page's text with its links made those of the site."""
    readmes = _readmes()
    files = {address: path for path, address in readmes.items() if path.parent != ROOT}
    files["plugins/index.md"] = ROOT / "plugins" / "index.md"
    here = files.get(page.file.src_uri, ROOT / "docs" / page.file.src_uri).parent

    def replaced(link: Link) -> str:
        if not link[2]:
            return link[0]
        target = Path(os.path.normpath(here / link[2]))
        if target in notebooks.NOTEBOOKS:
            target = target.with_suffix(".md")
        if target.is_relative_to(ROOT / "docs"):
            address = target.relative_to(ROOT / "docs").as_posix()
        elif target in readmes:
            address = readmes[target]
        elif target.exists():
            path = target.relative_to(ROOT).as_posix()
            return in_project(link, path, folder=target.is_dir())
        else:
            return link[0]  # mkdocs reports that it leads nowhere
        away = posixpath.relpath(address, posixpath.dirname(page.file.src_uri) or ".")
        return f"[{link[1]}]({away}{link[3] or ''})"

    return changed(markdown, replaced)
