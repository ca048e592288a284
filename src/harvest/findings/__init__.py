"""What rules conclude from a dataset: asking them, and their conclusions as data and words."""

from __future__ import annotations

from harvest.api.rule import SEVERITIES, Severity

from .evaluate import evaluate, judge

__all__ = ["SEVERITIES", "Severity", "evaluate", "judge"]
