"""Links of pages, which are written for a checkout, changed for the place where a page is shown.

The site (`site_pages.py`) and the pages of packages (`describe.py`) change them with this.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

Link = re.Match[str]
"""A link: its text, its path, which may be empty, and `#` with a heading, or None."""

_LINK = re.compile(r"(?<!!)\[([^][]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_FENCED = re.compile(r"(^ *(?:`{3,}).*?^ *`{3,} *$)", re.MULTILINE | re.DOTALL)


def changed(markdown: str, change: Callable[[Link], str]) -> str:
    """A page with each link to another place of the checkout changed; code is left alone."""

    def one(link: Link) -> str:
        return link[0] if re.match(r"[a-z]+:", link[2]) else change(link)

    pieces = _FENCED.split(markdown)  # odd ones are code
    pieces[::2] = [_LINK.sub(one, piece) for piece in pieces[::2]]
    return "".join(pieces)


def in_project(link: Link, path: str, *, folder: bool = False) -> str:
    """The link to a path of this repository on the project's pages.

    Plain text where `CI_PROJECT_URL` does not say which project this is.
    """
    project, commit = os.environ.get("CI_PROJECT_URL"), os.environ.get("CI_COMMIT_SHA", "HEAD")
    if not project:
        return link[1]
    return f"[{link[1]}]({project}/-/{'tree' if folder else 'blob'}/{commit}/{path}{link[3] or ''})"
