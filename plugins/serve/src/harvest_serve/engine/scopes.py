"""Which tables a query reads, by the scopes in which its names stand.

A name of a ``WITH`` stands for its rows only inside the query that it begins, and there only behind
its own body, or in it where it is recursive. Everywhere else the same name is a table's. DuckDB has
tables and functions of its own, which tell where files lie, so a name taken for another's row is a
way to them.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Any, Final

import attrs

_ASCII: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@attrs.frozen
class Read:
    """Something that stands where a table does: a table, or a function where ``called``."""

    name: str
    called: bool = False


def folded(name: str) -> str:
    """A name as DuckDB compares it: in small letters, of ASCII alone."""
    return name.translate(_ASCII)


def reads(tree: Any) -> Iterator[Read]:
    """What a tree of DuckDB's ``json_serialize_sql`` reads, but for what its own ``WITH`` names."""
    waiting: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, known = waiting.pop()
        if isinstance(node, list):
            waiting += [(each, known) for each in node]
        if not isinstance(node, dict):
            continue
        kind = node.get("type")
        if kind == "TABLE_FUNCTION" and "function" in node:
            yield Read(folded(str(node["function"].get("function_name", "?"))), called=True)
        elif kind == "SHOW_REF" and node.get("table_name"):
            yield Read(str(node["table_name"]))
        elif kind == "BASE_TABLE":
            path = node["qualified_name"]["path"]
            if len(path) != 1 or folded(path[0]) not in known:
                yield Read(".".join(path))
        rest = dict(node)
        for entry in (rest.pop("cte_map", None) or {}).get("map", ()):
            waiting.append((entry["value"], known))
            known |= {folded(entry["key"])}
        if kind == "RECURSIVE_CTE_NODE":
            # only its second part reads the rows that it has made
            waiting.append((rest.pop("right"), known | {folded(rest["cte_name"])}))
        waiting += [(each, known) for each in rest.values()]
