"""Views: named tables derived from a dataset, and declarations of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from harvest.columns import Column

if TYPE_CHECKING:
    import polars as pl


@attrs.frozen
class Setting:
    """A setting of a view or report.

    doc: its meaning.
    type: type of its values, in the notation of a source's ``Config`` (``int``, ``tuple[str,
        ...]``); text from the command line is converted to it.
    default: its default value; None if the view or report decides.
    check: raises ValueError for a value that is not allowed, such as ``at_least(1)`` of
        ``harvest.toolkit.settings``.
    """

    doc: str
    type: Any = Any
    default: Any = None
    check: Callable[[Any], object] | None = None

    def __attrs_post_init__(self) -> None:
        if isinstance(self.type, str):
            raise TypeError(f"a setting's type is a type, not the text {self.type!r}")

    @property
    def choices(self) -> tuple[str, ...]:
        """All values, if the setting is a choice between words."""
        if self.type is bool:
            return ("true", "false")
        return tuple(getattr(self.check, "choices", ()))

    @property
    def allowed(self) -> str:
        """The limits of its values, in words."""
        return str(getattr(self.check, "allowed", ""))


def by_name(declared: Mapping[str, Setting | str]) -> dict[str, Setting]:
    """Return settings by name; a setting declared only by its meaning takes any value."""
    return {
        name: setting if isinstance(setting, Setting) else Setting(setting)
        for name, setting in declared.items()
    }


class DatasetReader(Protocol):
    """The interface of a dataset for views."""

    def __contains__(self, name: object) -> bool:
        """Return whether the dataset holds rows of this record type."""

    def __getitem__(self, name: str) -> pl.LazyFrame:
        """Return all rows of a record type; an empty frame of its schema if there are none.

        Raises a KeyError that names what to install when no installed plugin declares the type.
        """

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """Return the rows of another view of the same dataset."""

    def views(self) -> list[str]:
        """Return the names of the views that this dataset can serve."""

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        """Return the values of a source's setting when these rows were harvested, each once.

        A view may use it as the default of its own setting, for example of a time zone.
        """

    @property
    def notes(self) -> list[str]:
        """Notes of the sources on their inputs."""


@attrs.frozen(kw_only=True)
class View:
    """Declaration of a named table that is derived from a dataset.

    name: ``family.view`` (``dask.tasks``).
    doc: one or two sentences for ``harvest view``.
    build: callable, or ``module:function`` imported on first use, that takes a DatasetReader and
        the settings by name, and returns a lazy frame; it raises ValueError for an unsuitable value
        of a setting.
    requires: record types it reads; a dataset with at least ``fewest`` of them is offered the view,
        and any dataset serves it by name. A view that joins several sources may need 2.
    settings: what it accepts, by name: a Setting, or its meaning as text, for values of any type.
    columns: its columns in order, declared by the functions of ``harvest.columns``; or their
        ``module:NAME``, imported when first used. A column without ``doc`` takes meaning and unit
        from the column of the same name of a required record type. If settings add or remove
        columns, list all that are possible.
    first: names of the columns to show first, which stay on a narrow terminal.
    text: callable or ``module:function`` that takes the collected frame and returns readable text,
        one string per row; for ``-o FILE.txt``.
    """

    name: str
    doc: str
    build: Callable[..., pl.LazyFrame] | str
    requires: tuple[str, ...] = ()
    fewest: int = 1
    settings: Mapping[str, Setting] = attrs.field(factory=dict, converter=by_name)
    columns: tuple[Column, ...] | str = ()
    first: tuple[str, ...] = ()
    text: Callable[..., Any] | str | None = None
