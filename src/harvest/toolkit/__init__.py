"""Files, texts, amounts and settings, for harvest and plugins; nothing else stands below them."""

from harvest.moved import moved_modules

_LEFT = (
    *("choices", "csv_header", "deferred", "delimited", "hosts", "json_lines"),
    *("line_blocks", "lines", "pairs", "spans", "streams", "values"),
)

moved_modules(__name__, {name: f"harvest_toolkit.{name}" for name in _LEFT})
moved_modules(__name__, {"cells": "harvest_report.values"})
