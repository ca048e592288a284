"""Findings of rules on a dataset: checking rules, and findings as data and text."""

from harvest.api.rule import SEVERITIES, Severity

from .evaluate import evaluate, judge
from .model import Found, Verdict

__all__ = ["SEVERITIES", "Found", "Severity", "Verdict", "evaluate", "judge"]
