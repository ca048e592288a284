"""For mkdocs: notebooks as pages, and links to files of the repository that are not on the site.

Each notebook of ``docs/notebooks`` is executed, and becomes a page with its outputs; links to the
notebook lead to that page.

In a checkout ``../examples/README.md`` leads to the file.  On the site it leads to the project's
page of that file where the pipeline says which project this is, and is plain text elsewhere.
"""

from __future__ import annotations

import os
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


def on_files(files: Any, *, config: Any, **_: Any) -> Any:
    """The site's files with a page for each notebook."""
    for path in notebooks.NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            executed = notebooks.executed(path, Path(folder))
        text = notebooks.page(executed, path.name)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page's text with links that lead out of the site replaced."""
    if page.file.abs_src_path is None:
        return markdown  # of a notebook
    here = Path(page.file.abs_src_path).parent
    docs = ROOT / "docs"

    def replaced(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(here / link[2]))
        if target.is_relative_to(docs) or not target.exists():
            return link[0]  # mkdocs follows it, or tells that it leads nowhere
        project, commit = os.environ.get("CI_PROJECT_URL"), os.environ.get("CI_COMMIT_SHA", "HEAD")
        if not project:
            return link[1]
        kind = "tree" if target.is_dir() else "blob"
        path = target.relative_to(ROOT).as_posix()
        return f"[{link[1]}]({project}/-/{kind}/{commit}/{path}{link[3] or ''})"

    pieces = _FENCED.split(markdown)  # odd ones are code
    pieces[::2] = [_LINK.sub(replaced, _NOTEBOOK.sub(r"\1.md)", p)) for p in pieces[::2]]
    return "".join(pieces)
