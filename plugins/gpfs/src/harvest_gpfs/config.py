"""Settings of the source ``gpfs``."""

from datetime import datetime

import attrs

from harvest.toolkit.settings import allows, at_least, one_of, setting

from .parse.layout import KNOWN
from .parse.show_clause import template


@allows("each KEY=ATTRIBUTE")
def _keys(value: tuple[str, ...]) -> None:
    for pair in value:
        key, equals, name = pair.partition("=")
        if not (key and equals) or name.lower() not in KNOWN:
            raise ValueError(f"{pair!r} is not KEY=ATTRIBUTE, such as sz=FILE_SIZE or x=extra")


@attrs.frozen(kw_only=True)
class GpfsConfig:
    """Settings of the source ``gpfs``."""

    show: str | None = setting(
        "SHOW clause of the policy, for lists that do not name attributes: its SQL expression, "
        "'{FILE_SIZE} {ACCESS_TIME}', or names with separators, 'size|atime'",
        check=template,
    )
    keys: tuple[str, ...] = setting(
        "attributes of the list's keys: 'sz=FILE_SIZE,own=USER_ID,x=extra'", (), _keys
    )
    escape: str = setting(
        "encoding of paths: percent (ESCAPE '%...'), none (only \\n and \\\\), or auto: that of "
        "SHOW, or else that of the first paths",
        "auto",
        one_of(("auto", "none", "percent")),
    )
    scan_time: datetime | None = setting(  # noqa: RUF009
        "time of the scan, UTC without a zone; default: from the list's header, or from a date in "
        "its name"
    )
    partition_bytes: int = setting(
        "bytes of a plain list in one unit of parallel work", 128 << 20, at_least(4096)
    )
