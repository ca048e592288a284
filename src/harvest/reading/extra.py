"""Move values of columns that a dataset lacks into entries of the column ``extra``."""

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from harvest.model.frames import without_maps
from harvest.model.json import plain_text


def with_entries(
    maps: pa.ChunkedArray, columns: Mapping[str, tuple[pa.DataType, pa.ChunkedArray]]
) -> pa.Array:
    """Append an entry for each column's value to the entries that each row of a map column has.

    columns: name -> type and values.
    The key of a new entry is the column's name, or ``column NAME`` if the row already has that key.
    Returns lists of structs of ``key`` and ``value``. A row without new entries keeps its value:
    null or an empty list.
    """
    extra = pl.Series("extra", without_maps(maps))
    rows = pl.DataFrame({"extra": extra}).with_row_index("row")
    own = rows.explode("extra").drop_nulls("extra").unnest("extra")
    pieces = [own]
    for name, (kind, column) in columns.items():
        texts = pl.Series("value", plain_text(kind, column), dtype=pl.String)
        taken = own.filter(pl.col("key") == name)["row"]
        key = pl.when(pl.col("row").is_in(taken.implode())).then(pl.lit(f"column {name}"))
        pieces.append(
            pl.DataFrame({"value": texts})
            .with_row_index("row")
            .drop_nulls("value")
            .select("row", key.otherwise(pl.lit(name)).alias("key"), "value")
        )
    entries = (
        pl.concat(pieces)
        .group_by("row", maintain_order=True)
        .agg(pl.struct("key", "value").alias("entries"))
    )
    found = rows.join(entries, on="row", how="left", maintain_order="left").select(
        pl.coalesce("entries", "extra")
    )
    return found.to_arrow().column(0)
