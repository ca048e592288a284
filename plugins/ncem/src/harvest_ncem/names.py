"""Parsing the names of the experiment's files."""

import re
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

Kind: TypeAlias = Literal["status", "data", "h5", "log"]

_UUID = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}"
)
_FORMS: Final = {
    # include copies that people keep next to the live file (..._scan_12_old.json)
    "status": r"4dstem_rec_status_(?P<receiver>#)_scan_(?P<scan_number>#)(?:[^0-9].*)?\.json",
    "data": r"data_scan(?P<scan_number>#)_module(?P<module>#|)(?!\d).*\.data",
    "log": r"log_scan_?(?P<scan_number>#)(?:[^0-9].*)?",
    "h5": r"FOURD_(?P<stamp>\d{6}_\d{4})_(?P<distiller_id>#)_(?P<scan_number>#)"
    rf"(?:_(?P<uuid>{_UUID}))?(?:_(?P<suffix>.+))?\.h5",
}
_PATTERNS: Final = [
    (cast("Kind", kind), re.compile(form.replace("#", r"\d{1,18}")))
    for kind, form in _FORMS.items()
]
_TEXTS: Final = ("uuid", "suffix", "stamp")

LOOK_BYTES = 200
"""Bytes per file for the progress of a run: about the size of a status; others are not read."""


@attrs.frozen(kw_only=True)
class FileName:
    """The parts of a recognised file name; None for parts that the name lacks."""

    kind: Kind
    scan_number: int
    receiver: int | None = None
    distiller_id: int | None = None
    module: int | None = None
    uuid: str | None = None
    suffix: str | None = None
    stamp: str | None = None


def parse_name(name: str) -> FileName | None:
    """Parse a file name; None if it does not belong to the experiment.

    Forms: ``4dstem_rec_status_<receiver>_scan_<scan>.json``, ``data_scan<scan>_module*.data``,
        ``log_scan<scan>*`` and ``FOURD_<YYMMDD>_<HHMM>_<distiller>_<scan>[_<uuid>][_<suffix>].h5``.
    """
    for kind, pattern in _PATTERNS:
        if found := pattern.fullmatch(name):
            parts: dict[str, Any] = {
                key: text if key in _TEXTS else int(text)
                for key, text in found.groupdict().items()
                if text
            }
            return FileName(kind=kind, **parts)
    return None
