"""Parsing the names of the experiment's files."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import attrs

Kind: TypeAlias = Literal["status", "data", "h5", "log"]

_UUID = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32}"
)
# include copies that people keep next to the live file (..._scan_12_old.json)
_STATUS = re.compile(r"4dstem_rec_status_(\d+)_scan_(\d+)(?:[^0-9].*)?\.json")
_DATA = re.compile(r"data_scan(\d+)_module(\d*).*\.data")
_LOG = re.compile(r"log_scan_?(\d+)(?:[^0-9].*)?")
_H5 = re.compile(rf"FOURD_(\d{{6}}_\d{{4}})_(\d+)_(\d+)(?:_({_UUID}))?(?:_(.+))?\.h5")

LOOK_BYTES = 200
"""Bytes per file for the progress of a run: about the size of a status; others are not read."""

_LARGEST = 2**63 - 1


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
    found = _parse(name)
    if found is None:
        return None
    numbers = (found.scan_number, found.receiver, found.distiller_id, found.module)
    return None if any(n is not None and n > _LARGEST for n in numbers) else found


def _parse(name: str) -> FileName | None:
    if m := _STATUS.fullmatch(name):
        return FileName(kind="status", receiver=int(m[1]), scan_number=int(m[2]))
    if m := _DATA.fullmatch(name):
        return FileName(kind="data", scan_number=int(m[1]), module=int(m[2]) if m[2] else None)
    if m := _LOG.fullmatch(name):
        return FileName(kind="log", scan_number=int(m[1]))
    if m := _H5.fullmatch(name):
        return FileName(
            kind="h5",
            stamp=m[1],
            distiller_id=int(m[2]),
            scan_number=int(m[3]),
            uuid=m[4],
            suffix=m[5],
        )
    return None
