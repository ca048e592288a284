"""A user's own SQL as DuckDB's syntax tree: check that it is one query, and find what it reads."""

import re
import string
from collections.abc import Iterator
from typing import Any, Final

import orjson

from harvest import UsageError

from .files import FILE, ROW
from .guarded import parse

_ASCII: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

MOST_LETTERS: Final = 100_000
"""Most characters of a query."""

_ABOUT_ITSELF: Final = frozenset(
    {"current_setting", "getvariable", "json_serialize_plan", "get_block_size", "format_type"}
)
"""Functions that show DuckDB's settings, or plan a query that was not checked."""

_INTERNAL: Final = re.compile(r"(?:duckdb|pragma|pg(?!_typeof$))_")
"""Names of functions that read DuckDB's catalog."""

_IDLE: Final = frozenset({"sleep_ms", "pg_sleep"})
"""Functions that only wait, and keep a turn from another query."""


def lowered(name: str) -> str:
    """Lower the ASCII letters of a name, as DuckDB compares names."""
    return name.translate(_ASCII)


def check_condition(condition: str | None) -> str | None:
    """Check an SQL condition on one table's columns, and return it.

    Raises UsageError for a text that is not a condition, or that reads other tables.
    """
    if condition is None or not condition.strip():
        return None
    # without brackets, so that it cannot close those that it is put into
    tree = select(f"SELECT 1 WHERE {condition}", "condition")
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
    """Return the syntax tree of a text that is one SELECT; raises UsageError for any other text."""
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
    for each in _nodes(node):
        if each.get("class") != "FUNCTION":
            continue
        name = lowered(str(each.get("function_name", "")))
        if name in _IDLE:
            raise UsageError(f"{name}() only waits", remedy="take it away")
        if name in _ABOUT_ITSELF or _INTERNAL.match(name):
            raise UsageError(
                f"{name}() shows the database, not this dataset",
                remedy="ask record types and views alone",
            )
    return node


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def reads(tree: Any) -> Iterator[tuple[str, bool]]:
    """Yield each table that a query's tree reads, and whether this is a function.

    Rows of its own ``WITH`` are left out. Their name is known only inside its query, after its own
    body, or within it if it is recursive. Elsewhere the same name is a table: DuckDB has internal
    tables, which show where files are.
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
            yield lowered(str(node["function"].get("function_name", "?"))), True
        elif kind == "SHOW_REF" and node.get("table_name"):
            yield str(node["table_name"]), False
        elif kind == "BASE_TABLE":
            path = node["qualified_name"]["path"]
            if len(path) != 1 or lowered(path[0]) not in known:
                yield ".".join(path), False
        rest = dict(node)
        for entry in (rest.pop("cte_map", None) or {}).get("map", ()):
            waiting.append((entry["value"], known))
            known |= {lowered(entry["key"])}
        if kind == "RECURSIVE_CTE_NODE":
            # only its second part reads its own rows
            waiting.append((rest.pop("right"), known | {lowered(rest["cte_name"])}))
        waiting += [(each, known) for each in rest.values()]
