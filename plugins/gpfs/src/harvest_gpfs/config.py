"""The settings of the source ``gpfs``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs

from harvest_gpfs.parse import compiled

from .parse.attributes import KNOWN, Attribute

__all__ = ["ESCAPES", "GpfsConfig", "keys_of"]

ESCAPES = ("auto", "none", "percent")

SMALLEST_PARTITION = 4096


def _setting(doc: str, default: Any = None, check: Callable[[Any], None] | None = None) -> Any:
    def validate(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if check is not None and value is not None:
            check(value)

    return attrs.field(default=default, validator=validate, metadata={"doc": doc})


def _show(value: str) -> None:
    from .parse.show_clause import template

    template(value)


def _keys(value: tuple[str, ...]) -> None:
    for pair in value:
        key, equals, name = pair.partition("=")
        if not (key and equals) or name.lower() not in KNOWN:
            raise ValueError(
                f"{pair!r} is not KEY=ATTRIBUTE, with an attribute such as FILE_SIZE or extra"
            )


def _escape(value: str) -> None:
    if value not in ESCAPES:
        raise ValueError(f"must be one of {', '.join(ESCAPES)}")


def _kernel(value: str) -> None:
    compiled.wanted(0, value)


def _partition(value: int) -> None:
    if value < SMALLEST_PARTITION:
        raise ValueError(f"must be at least {SMALLEST_PARTITION}")


@attrs.frozen(kw_only=True)
class GpfsConfig:
    """Settings of the source ``gpfs``."""

    show: str | None = _setting(
        "what the SHOW clause prints, where the list does not tell: its SQL expression, "
        "'{FILE_SIZE} {ACCESS_TIME}', or names with what stands between them, 'size|atime'",
        check=_show,
    )
    keys: tuple[str, ...] = _setting(
        "attributes that the list's keys stand for, as 'sz=FILE_SIZE,own=USER_ID,x=extra'",
        (),
        check=_keys,
    )
    escape: str = _setting(
        "how paths are written: percent (ESCAPE '%...'), none (\\n and \\\\ alone), or auto: as "
        "SHOW is, and where that proves nothing, by all paths at the list's beginning",
        "auto",
        check=_escape,
    )
    scan_time: datetime | None = attrs.field(
        default=None,
        metadata={
            "doc": "when the scan was made, UTC where it names no zone; otherwise from the list's "
            "header, or from a date in its name"
        },
    )
    kernel: str = _setting(
        "parser: numba (compiled), arrow, or auto: numba where it is installed and the list large",
        "auto",
        check=_kernel,
    )
    partition_bytes: int = _setting(
        "bytes of a plain list that are one unit of parallel work", 128 << 20, check=_partition
    )


def keys_of(config: GpfsConfig) -> dict[str, Attribute]:
    """The attributes of keys that the settings name."""
    pairs = (pair.partition("=") for pair in config.keys)
    return {key: KNOWN[name.lower()] for key, _, name in pairs}
