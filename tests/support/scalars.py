"""The places of a JSON document, at each of which a test plants something else."""

from collections.abc import Iterator
from typing import Any


def scalars_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a scalar: its container, and its key there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], (dict, list)):
            yield from scalars_in(value[key])
        else:
            yield value, key
