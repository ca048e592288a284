"""How hard the tests try: little by day, all they can at night.

``HARVEST_NIGHT=1``, which the nightly jobs set, is the one switch for all that is random or walks
through many cases of one kind.  By day what is random is drawn alike on every run; at night anew,
and a test prints the number that, as ``HARVEST_NIGHT``, draws the same again.
"""

import os
import random
from collections.abc import Iterable

_given = int(os.environ.get("HARVEST_NIGHT") or 0)

NIGHT = _given > 0

SEED = _given if _given > 1 else random.randrange(2, 10**6) if NIGHT else 32
"""Of what tests draw by themselves, who print it."""


def one_of_each(names: Iterable[str]) -> list[str]:
    """By day jobs.usage instead of pbs.usage and slurm.usage, the same view of one scheduler."""
    every = list(names)
    twins = {f"{one}.{n[5:]}" for n in every if n.startswith("jobs.") for one in ("pbs", "slurm")}
    return [name for name in every if NIGHT or name not in twins]
