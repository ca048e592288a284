"""Pages of the reference, as Markdown, from the program and its installed plugins themselves.

python -m docs_reference PAGE > docs/reference/PAGE.md
"""

from __future__ import annotations

from collections.abc import Callable

from . import commands, declared, exits, public, python, settings

__all__ = ["PAGES"]

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
