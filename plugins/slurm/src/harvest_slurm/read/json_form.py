"""JSON and YAML of sacct, recognised by how an input begins."""

from __future__ import annotations

import re
from typing import Final, Literal

_YAML: Final = re.compile(
    rb'%YAML|---[ \t]*(?:[\r\n!#]|$)|(?:- +)?(?:!!\w+ +)?"?(?:jobs|meta|errors|warnings)"? *:\s'
    rb"|- +(?:!!map\s+)?\"?(?:account|job_id)\"? *:\s"
)


def form_of(head: bytes) -> Literal["json", "yaml"] | None:
    """Whether an input that begins so is JSON, or YAML."""
    text = head.lstrip()
    # a line of a log begins with a time in brackets
    if re.match(rb"\{|\[\s*(?:[\[\]{]|$)", text):
        return "json"
    return "yaml" if _YAML.match(text) else None


def json_likeness(head: bytes, form: str) -> tuple[float, str] | None:
    """How much it looks like jobs of sacct, and by what; None if not at all."""
    keys = set(re.findall(rb'\b(\w+)"? *:', head))
    if keys >= {b"job_id", b"submission"} and keys & {b"association", b"steps"}:
        return 0.95, f"sacct --{form}"
    of_slurm = re.search(rb"dbv0|slurmdb|data_parser", head) and b"last_update" not in keys
    if of_slurm and re.search(rb'\bjobs"? *:\s*(?:!!seq\s*)?\[\s*\]', head):
        return 0.6, f"sacct --{form} without jobs"
    return None
