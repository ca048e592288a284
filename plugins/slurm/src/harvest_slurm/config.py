"""The settings of the source ``slurm``."""

from zoneinfo import ZoneInfo

import attrs

from harvest.toolkit.settings import at_least, matches, one_of, setting, time_zone
from harvest_accounting.calendar import moment

from .read.presets import PRESETS
from .values.scalars import STATES


def _moment(value: str) -> None:
    moment(value, ZoneInfo("UTC"))


_EXIT_CODE = matches(r"\d{1,9}(:\d{1,9})?", "write CODE or CODE:SIGNAL, for example 0:0")
_LOGINS = matches(r"[\w.@$+\\][\w.@$+\\-]*", "write logins as the cluster knows them")
_JOB_STATES = matches(f"(?i:{'|'.join(STATES)})", f"job states are {', '.join(STATES).lower()}")


@attrs.frozen(kw_only=True)
class SlurmConfig:
    """Settings of the source; the last four are for ``slurm:live``."""

    timezone: str | None = setting(
        "time zone of times without one (Europe/Zurich); UTC unless given", None, time_zone
    )
    columns: tuple[str, ...] = setting(
        "fields of a dump without a header (sacct --noheader), in order", ()
    )
    layout: str | None = setting(
        "column order of a dump without a header, named after the program that wants it: "
        f"{', '.join(PRESETS)}. Unless columns is set, the default is the order that the lines fit",
        None,
        one_of(PRESETS),
    )
    cluster: str | None = setting(
        "cluster name of rows without one: jobs of two clusters may have the same ids"
    )
    delimiter: str | None = setting(
        "text between fields (sacct --delimiter), without quoting; detected where there is a header"
    )
    name_contains: str | None = setting("only jobs whose name contains this")
    qos_contains: str | None = setting("only jobs whose QOS contains this")
    req_nodes: int | None = setting("only jobs that requested this many nodes")
    exit_code: str | None = setting(
        "only jobs that ended with this exit code: CODE or CODE:SIGNAL", None, _EXIT_CODE
    )
    started: bool | None = setting("true: only jobs that have started; false: only the others")
    users: tuple[str, ...] = setting("only jobs of these users", (), _LOGINS)
    states: tuple[str, ...] = setting("only jobs in these states", (), _JOB_STATES)
    since: str | None = setting(
        "start of the time window: 2024-01-31[T12:00:00], or 7d, 12h, 4w ago; today unless given",
        None,
        _moment,
    )
    until: str | None = setting("end of the time window; now unless given", None, _moment)
    slice_days: int = setting("days per call of sacct", 7, at_least(1))
    sacct: str = setting("program to run", "sacct")

    def __attrs_post_init__(self) -> None:
        if self.layout is not None and self.columns:
            raise ValueError("columns and layout both name the columns: set one of them")
