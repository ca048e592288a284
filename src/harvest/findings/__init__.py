"""What rules conclude from a dataset: asking them, and their conclusions as data and words."""

from __future__ import annotations

from harvest.api.rule import SEVERITIES

from .evaluate import evaluate, judge
from .model import Evidence, Found, Verdict

__all__ = ["SEVERITIES", "Evidence", "Found", "Verdict", "evaluate", "judge"]
