"""For mkdocs: READMEs of plugins and notebooks as pages, and links between pages and files.

Each notebook of ``docs/notebooks`` is executed, and becomes a page with its outputs.

Links are written for a checkout, where ``../examples/README.md`` leads to the file.  On the site a
link to a page leads to that page.  A link to another file leads to the project's page of it where
the pipeline says which project this is, and is plain text elsewhere.
"""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from docs_reference import notebooks

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(?<!!)\[([^][]*)\]\((\.\.?/[^)\s#]*)(#[^)\s]*)?\)")
_FENCED = re.compile(r"(^ *(?:`{3,}).*?^ *`{3,} *$)", re.MULTILINE | re.DOTALL)
_NOTEBOOK = re.compile(r"(\]\([^)\s]*)\.ipynb\)")


def _readmes() -> dict[Path, str]:
    """The address on the site of each file outside ``docs`` that is a page of it."""
    plugins = sorted((ROOT / "plugins").glob("*/README.md"))
    return {ROOT / "README.md": "index.md"} | {
        path: f"plugins/{path.parent.name}.md" for path in plugins
    }


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """The files of the site, with the plugins' READMEs and the notebooks."""
    for path, address in _readmes().items():
        if path.parent != ROOT:
            files.append(File.generated(config, address, content=path.read_text("utf-8")))
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
    here = files.get(page.file.src_uri, ROOT / "docs" / page.file.src_uri).parent

    def replaced(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(here / link[2]))
        if target.is_relative_to(ROOT / "docs"):
            address = target.relative_to(ROOT / "docs").as_posix()
        elif target in readmes:
            address = readmes[target]
        elif target.exists():
            return _elsewhere(target, link)
        else:
            return link[0]  # mkdocs reports that it leads nowhere
        away = posixpath.relpath(address, posixpath.dirname(page.file.src_uri) or ".")
        return f"[{link[1]}]({away}{link[3] or ''})"

    pieces = _FENCED.split(markdown)  # odd ones are code
    pieces[::2] = [_LINK.sub(replaced, _NOTEBOOK.sub(r"\1.md)", p)) for p in pieces[::2]]
    return "".join(pieces)


def _elsewhere(target: Path, link: re.Match[str]) -> str:
    """A link to a file of the repository that is not a page."""
    project, commit = os.environ.get("CI_PROJECT_URL"), os.environ.get("CI_COMMIT_SHA", "HEAD")
    if not project:
        return link[1]
    kind = "tree" if target.is_dir() else "blob"
    path = target.relative_to(ROOT).as_posix()
    return f"[{link[1]}]({project}/-/{kind}/{commit}/{path}{link[3] or ''})"
