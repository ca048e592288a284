"""What the commands for authors of plugins need of the library that these have installed."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from harvest.errors import UsageError

__all__ = ["of_authors"]


def of_authors(name: str) -> Any:
    """A part of the library, by ``module:name``; raises UsageError where it is not installed."""
    try:
        return resolve_name(f"harvest_testing.{name}")
    except ModuleNotFoundError as error:
        if error.name != "harvest_testing":
            raise
        raise UsageError(
            "checking and beginning plugins is for their authors, with harvest_testing",
            remedy="install hpc-harvest-testing",
        ) from None
