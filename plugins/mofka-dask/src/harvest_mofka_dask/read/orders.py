"""Known orders of columns in a run's CSVs, by coupler, for those without a header."""

from __future__ import annotations

from typing import Final

from harvest_toolkit.headless import Order

_TIME: Final = r"\d{9,10}(?:\.\d*)?"
_NUMBER: Final = r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|nan|None|"
_ADDRESS: Final = r"[a-z]+://\S+"
_STATE: Final = (
    r"(?i:released|waiting|no-worker|queued|processing|memory|erred|forgotten|constrained|ready|"
    r"executing|long-running|fetch|flight|missing|cancelled|resumed|rescheduled|error)"
)
_SET_OR_DICT: Final = r"(?s:\{.*\}|set\(\))"
_SHAPES: Final = {
    **dict.fromkeys(("key", "prefix", "group", "stimulus_id"), ""),
    **dict.fromkeys(("stop", "middle", "time"), _TIME),
    **dict.fromkeys(("begins", "ends"), rf"{_TIME}|"),
    **dict.fromkeys(("thread", "duration", "size", "total", "bandwidth", "compressed"), _NUMBER),
    **dict.fromkeys(("start", "finish"), _STATE),
    **dict.fromkeys(("keys", "dependencies"), _SET_OR_DICT),
    **dict.fromkeys(("worker", "who"), rf"{_ADDRESS}|"),
    "called_from": _ADDRESS,
    "client": r"Client-\S+",
    "action": r"(?i:(?:add|remove)(?:_worker|_client)?|)",
    "type": r"(?:incoming|outgoing)_transfer",
}
"""Pattern of each column's texts; empty where any text is possible."""


def _order(kind: str, columns: str, *, shown_by: tuple[str, ...] = (), **own: str) -> Order:
    """Declare an order after the index that pandas writes; own: other patterns of some columns."""
    shapes = {name: (_SHAPES | own)[name] for name in columns.split()}
    return Order({"": r"\d+", **shapes}, shown_by, kind)


ORDERS: Final = (
    _order(
        "scheduler_transition",
        "key thread worker prefix group start finish stimulus_id called_from begins ends duration "
        "size time",
    ),
    _order("worker_transition", "key start finish called_from time"),
    _order(
        "worker_transfer",
        "start stop middle duration keys total bandwidth who type called_from time compressed",
        start=_TIME,
    ),
    _order(
        "worker_transfer",
        "start stop middle duration who keys total compressed bandwidth type called_from time",
        start=_TIME,
    ),
    _order("graph", "client keys dependencies time"),
    _order("worker", "worker action stimulus_id time", shown_by=("worker",)),
    _order("client", "client action time"),
)
