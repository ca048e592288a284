"""Old places of public names, which work for one minor version more and say where to look.

A module of which some names have moved says ``__getattr__ = moved(__name__, "harvest_toolkit.x")``,
and a package of which whole modules have, ``moved_modules(__name__, {"x": "harvest_toolkit.x"})``.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

__all__ = ["moved", "moved_modules"]


def moved_modules(package: str, places: Mapping[str, str]) -> None:
    """Let modules that have left a package be found in it; the package itself calls this.

    places: where each is now, by its name in the package.
    """
    for name, new in places.items():
        old = f"{package}.{name}"
        module = ModuleType(old, f"Now ``{new}``.")
        vars(module)["__getattr__"] = moved(old, new)
        setattr(sys.modules[package], name, module)
        sys.modules[old] = module


def moved(old: str, new: str, *, stacklevel: int = 2) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module ``old``, whose names are in the module ``new``.

    ``new`` belongs to the distribution of its first word: ``hpc-harvest-toolkit`` brings
    ``harvest_toolkit``.  Every use warns where it stands, which is ``stacklevel`` calls up.

    Raises, when a name is asked for:
    ImportError: the distribution is not installed; the message says how to install it.
    AttributeError: ``new`` has no such name.
    """

    def get(name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # import itself asks for some
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        package = new.partition(".")[0]
        try:
            module = importlib.import_module(new)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            install = f"pip install hpc-{package.replace('_', '-')}"
            raise ImportError(
                f"{old}.{name} is now in {new}, which is not installed: {install}", name=new
            ) from None
        value = getattr(module, name)
        if name != "__all__":
            warnings.warn(
                f"{old}.{name} is deprecated and goes with the next minor version of harvest; "
                f"import it from {new}",
                DeprecationWarning,
                stacklevel=stacklevel,
            )
        return value

    return get
