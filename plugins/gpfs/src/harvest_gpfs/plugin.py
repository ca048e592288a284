"""Plugin declarations: source, views, reports, rules and commands."""

from typing import Final

from harvest import ReportSpec, SourceSpec, declare

from .commands.plugin import harvest_commands as harvest_commands
from .rules import RULES
from .views import listed, settings, sums

VIEWS: Final = (*sums.USES, *listed.CHANGES, *sums.CLASSES, *listed.PATHS)

_ROWS: Final = settings.count("rows of longer tables", 20)

harvest_sources = declare(
    SourceSpec(
        name="gpfs",
        doc="GPFS (IBM Storage Scale) policy lists, plain, .gz or .zst",
        factory="harvest_gpfs.source:GpfsSource",
        record_types=("gpfs.file",),
    )
)

harvest_views = declare(*VIEWS)

harvest_reports = declare(
    ReportSpec(
        name="gpfs.summary",
        doc="A file system at a glance: users, directories, age, size and growth.",
        build="harvest_gpfs.report.summary:summary",
        requires=settings.REQUIRES,
        settings={
            **settings.TIMED,
            **settings.PLACE,
            "depth": settings.count("depth of the directory tree", 2, 0),
            "cold": settings.COLD,
            "n": _ROWS,
            **settings.PEOPLE,
        },
    ),
    ReportSpec(
        name="gpfs.change",
        doc="Changes between two scans: growth, new, deleted and moved data, cold data, and what a "
        "policy would free.",
        build="harvest_gpfs.report.change:change",
        requires=settings.REQUIRES,
        settings={
            "from": settings.FROM,
            "to": settings.TO,
            "over": settings.OVER,
            "cold": settings.COLD,
            "policy": settings.POLICY,
            "root": settings.ROOT,
            "top_depth": settings.DEEPER,
            "n": _ROWS,
            **settings.PEOPLE,
        },
    ),
)

harvest_rules = declare(*RULES)
