"""Pages of the reference, as Markdown, from the program and its installed plugins themselves.

The site has all of them (`.ci/site_pages.py`).  The tree keeps those `IN_TREE`:
python -m docs_reference commands > docs/reference/commands.md
"""

from collections.abc import Callable

from . import commands, declared, exits, public, python, settings

__all__ = ["IN_TREE", "PAGES"]

PAGES: dict[str, Callable[[], str]] = {
    "commands": commands.page,
    "exit-codes": exits.page,
    "hooks": declared.hooks,
    "public-names": public.page,
    "python": python.page,
    "record-types": declared.record_types,
    "rules": declared.rules,
    "settings": settings.page,
    "views-reports": declared.views_and_reports,
}
"""Name of each generated page, and what writes it."""

IN_TREE = ("commands", "exit-codes")
"""Pages that a checkout holds too, below ``docs/reference``."""
