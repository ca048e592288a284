"""Types of polars frames that become tables of record types."""

from __future__ import annotations

import polars as pl

__all__ = ["TEXT_MAP"]

TEXT_MAP = pl.List(pl.Struct({"key": pl.String, "value": pl.String}))
"""How a polars frame holds a column that is ``dict[str, str]`` in the record class (``extra``)."""
