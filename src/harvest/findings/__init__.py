"""Findings of rules on a dataset: checking rules, and findings as data and text."""

from .evaluate import evaluate, judge
from .model import Found, Verdict

__all__ = ["Found", "Verdict", "evaluate", "judge"]
