"""SQL that a user wrote, as DuckDB's tree: that it is one query or condition, and what it reads."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any, Final

import attrs
import orjson

from harvest import UsageError

from .files import FILE, ROW
from .guarded import parse

_ASCII: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

MOST_LETTERS: Final = 100_000
"""Letters of a query."""

_ABOUT_ITSELF: Final = frozenset(
    {"current_setting", "getvariable", "json_serialize_plan", "get_block_size", "format_type"}
)
"""Functions that show DuckDB's settings, or plan a query that nobody has looked at."""

_INTERNAL: Final = re.compile(r"(?:duckdb|pragma|pg(?!_typeof$))_")
"""Names of functions that read its catalog."""

_IDLE: Final = frozenset({"sleep_ms", "pg_sleep"})
"""Functions that do nothing, and take the turn of another query for it."""


@attrs.frozen
class Read:
    """Something that stands where a table does: a table, or a function where ``called``."""

    name: str
    called: bool = False


def lowered(name: str) -> str:
    """A name as DuckDB compares it: in small letters, of ASCII alone."""
    return name.translate(_ASCII)


def check_condition(condition: str | None) -> str | None:
    """An SQL condition on one table's columns, as it is given.

    Raises UsageError for what is none, or asks other tables.
    """
    if condition is None or not condition.strip():
        return None
    tree = select(f"SELECT 1 WHERE ({condition}\n)", "condition")
    plain = ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")
    if tree["type"] != "SELECT_NODE" or any(tree[key] for key in plain):
        raise UsageError(
            "this is not a condition", where=condition, remedy="write SQL such as: bytes > 1e9"
        )
    for node in _nodes(tree):
        if node.get("class") == "SUBQUERY":
            raise UsageError(
                "a condition asks one table alone", where=condition, remedy="write it as a query"
            )
        for name in node.get("column_names") or ():
            if lowered(name) in (FILE, ROW):
                raise UsageError(f"no column is named {name!r}", where=condition)
    return condition


def select(text: str, what: str = "query") -> dict[str, Any]:
    """The tree of the one SELECT that a text is."""
    if len(text) > MOST_LETTERS:
        raise UsageError(f"the {what} has {len(text):,} letters", remedy="write a shorter one")
    kinds, found = parse(text)
    if len(kinds) != 1:
        raise UsageError(
            f"{len(kinds)} statements where one {what} is expected",
            remedy="ask each in a call of its own",
        )
    if kinds[0] == "MULTI":
        raise UsageError(
            "PIVOT does not say which values become columns",
            remedy="name them: PIVOT t ON column IN ('a', 'b') USING sum(number)",
        )
    if found is None:
        raise UsageError(
            f"this is of the type {kinds[0]}, and a dataset is only read",
            remedy="ask with SELECT or FROM",
        )
    try:
        tree = orjson.loads(found)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"the {what} is nested too deeply", remedy="write it simpler") from error
    if tree["error"]:
        raise UsageError(f"the {what} failed: {tree['error_message']}")
    node: dict[str, Any] = tree["statements"][0]["node"]
    _check_functions(node)
    return node


def _check_functions(tree: Any) -> None:
    """Raise UsageError where a query calls a function that shows the database, or only waits."""
    for node in _nodes(tree):
        if node.get("class") != "FUNCTION":
            continue
        name = lowered(str(node.get("function_name", "")))
        if name in _IDLE:
            raise UsageError(f"{name}() only waits", remedy="take it away")
        if name in _ABOUT_ITSELF or _INTERNAL.match(name):
            raise UsageError(
                f"{name}() shows the database, not this dataset",
                remedy="ask record types and views alone",
            )


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every node of a tree, in no order."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def reads(tree: Any) -> Iterator[Read]:
    """What a tree of a query reads, but for what its own ``WITH`` names.

    A name of a ``WITH`` stands for its rows only inside the query that it begins, and there only
    behind its own body, or in it where it is recursive. Everywhere else the same name is a table's:
    DuckDB has tables of its own, which say where files are.
    """
    waiting: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, known = waiting.pop()
        if isinstance(node, list):
            waiting += [(each, known) for each in node]
        if not isinstance(node, dict):
            continue
        kind = node.get("type")
        if kind == "TABLE_FUNCTION" and "function" in node:
            yield Read(lowered(str(node["function"].get("function_name", "?"))), called=True)
        elif kind == "SHOW_REF" and node.get("table_name"):
            yield Read(str(node["table_name"]))
        elif kind == "BASE_TABLE":
            path = node["qualified_name"]["path"]
            if len(path) != 1 or lowered(path[0]) not in known:
                yield Read(".".join(path))
        rest = dict(node)
        for entry in (rest.pop("cte_map", None) or {}).get("map", ()):
            waiting.append((entry["value"], known))
            known |= {lowered(entry["key"])}
        if kind == "RECURSIVE_CTE_NODE":
            # only its second part reads the rows that it has made
            waiting.append((rest.pop("right"), known | {lowered(rest["cte_name"])}))
        waiting += [(each, known) for each in rest.values()]
