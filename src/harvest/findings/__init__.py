"""What rules conclude from a dataset: asking them, and their conclusions as data and words."""

from __future__ import annotations

from .evaluate import evaluate, judge
from .model import Evidence, Found, Verdict

__all__ = ["Evidence", "Found", "Verdict", "evaluate", "judge"]
