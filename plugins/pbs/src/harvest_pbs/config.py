"""The settings of the source ``pbs``."""

import attrs

from harvest.toolkit.settings import at_least, setting, time_zone


@attrs.frozen(kw_only=True)
class PbsConfig:
    """Settings of the source; the last two are for ``pbs:live``."""

    timezone: str | None = setting(
        "time zone of the server's clock (Europe/Zurich); UTC unless given", None, time_zone
    )
    qstat: str = setting("program to run", "qstat")
    timeout_s: int = setting("seconds after which qstat is stopped", 300, at_least(1))
