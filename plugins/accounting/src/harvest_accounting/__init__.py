"""Views, reports and rules on jobs, over what any scheduler recorded.

The names below are for plugins of schedulers; ``frame`` and ``possible`` help to fill a frame of
runs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .job_runs import JobRuns, Words
    from .report import reports_of
    from .rules import rules_of
    from .views import views_of

__all__ = ["JobRuns", "Words", "reports_of", "rules_of", "views_of"]

_HOMES = {"reports_of": ".report", "rules_of": ".rules", "views_of": ".views"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, ".job_runs"), __name__), name)
