"""What reads the records of one module."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

from harvest import Record

from .container import DamagedError, Module
from .regions import Region
from .tables import Log


class Decoder(abc.ABC):
    """A module's records, checked, whose number is known before any is given.

    known: the versions of its records that can be read.
    rows: rows that ``batches`` will give.
    folded: records of the log that leave no row of their own.
    hosts: host by rank, where the records say.

    Raises DamagedError when the records do not fill the region exactly.
    """

    known: tuple[int, ...] = (1,)

    def __init__(self, module: Module, region: Region, order: str):
        if module.version not in self.known:
            raise DamagedError(f"version {module.version} of its records is not known")
        self.module = module
        self.region = region
        self.order = order
        self.folded = 0
        self.hosts: dict[int, str] = {}
        self.rows = self._check()

    @abc.abstractmethod
    def _check(self) -> int:
        """How many rows there are.  Raises DamagedError where the records are not sound."""

    @abc.abstractmethod
    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        """The records as batches of rows."""
