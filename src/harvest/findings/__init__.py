"""What rules conclude from a dataset: asking them, and their conclusions as data and words."""

from __future__ import annotations

from harvest.api.rule import SEVERITIES, Severity

from .evaluate import evaluate, judge
from .model import Found, Verdict

__all__ = ["SEVERITIES", "Found", "Severity", "Verdict", "evaluate", "judge"]
