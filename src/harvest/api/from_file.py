"""Python files that a user names: loaded once, and found again by other processes.

Such a file cannot be imported by name.  It is loaded under a name made of its path
and content, and what travels to a worker process is the path with a digest of the content: the
worker loads the very same file, or refuses.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

import attrs

from harvest.errors import HarvestError, PluginError, UsageError, raised_in
from harvest.plugin_code import contained

_ATTRIBUTE: Final = "__harvest_file__"


@attrs.frozen
class LoadedFile:
    """A file that was loaded: its absolute path, and a digest of what it held then.

    Where it arrives in another process, the file is loaded there.
    """

    path: str
    digest: str

    def __reduce__(self) -> Any:
        return (_arrived, (self.path, self.digest))


class _Loader(SourceFileLoader):
    """Executes the bytes that were read, and keeps no compiled copy next to the file."""

    def __init__(self, name: str, path: str, data: bytes):
        super().__init__(name, path)
        self._data = data

    def get_data(self, path: Any) -> bytes:
        return self._data

    def path_stats(self, path: Any) -> NoReturn:
        raise OSError("its compiled copy is neither read nor written")


def content_version(data: bytes) -> str:
    """A digest of a file's content, short enough to be read."""
    return hashlib.sha256(data).hexdigest()[:12]


def load_file(path: Path, digest: str | None = None) -> ModuleType:
    """Execute a Python file as a module, unless it was loaded with the same content before.

    digest: what the file must hold.
    Raises UsageError where the file is absent, PluginError with the line where it is not Python
    or fails, HarvestError where it holds something else.
    """
    path = path.expanduser().absolute()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the file of a plugin cannot be read: {error.strerror}",
            where=str(path),
            remedy="check the path",
        ) from error
    found = content_version(data)
    if digest not in (None, found):
        raise HarvestError(
            "the file of a plugin has changed since the run began",
            where=str(path),
            remedy="run again",
        )
    word = re.sub(r"[^0-9A-Za-z]", "_", path.stem)
    name = f"harvest_file_{word}_{content_version(os.fsencode(path) + data)}"
    if name not in sys.modules:
        _execute(name, path, data, LoadedFile(str(path), found))
    return sys.modules[name]


def _execute(name: str, path: Path, data: bytes, loaded: LoadedFile) -> None:
    loader = _Loader(name, str(path), data)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    setattr(module, _ATTRIBUTE, loaded)
    sys.modules[name] = module  # what is declared in it asks for its module
    try:
        with contained():
            loader.exec_module(module)
    # whatever a user's file raises, an exit included, is to be shown with its line
    except Exception as error:
        del sys.modules[name]
        raise _failure(path, error) from error


def _failure(path: Path, error: BaseException) -> PluginError:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        shown = f": {error.text.strip()}" if error.text else ""
        return PluginError(
            f"{error.msg}{shown}", where=f"{path}:{error.lineno}", remedy="correct the file"
        )
    line = raised_in(error, {str(path)})
    remedy = "correct the file"
    if isinstance(error, ModuleNotFoundError) and error.name:
        remedy = f"install what brings {error.name!r}"
        if (path.parent / f"{error.name}.py").exists() or (path.parent / error.name).is_dir():
            remedy = "a plugin file cannot import its neighbours: merge them, or make a package"
    return PluginError(
        f"{type(error).__name__}: {error}", where=line[1] if line else str(path), remedy=remedy
    )


def file_of(cls: type) -> LoadedFile | None:
    """The file that a class was loaded from; None for one of an ordinary module."""
    return getattr(sys.modules.get(cls.__module__), _ATTRIBUTE, None)


def loaded_file(module: ModuleType) -> LoadedFile:
    """The file that ``load_file`` made a module of."""
    found: LoadedFile = getattr(module, _ATTRIBUTE)
    return found


def reduced(cls: type, made: Any) -> Any:
    """What pickle makes of an instance of ``cls``, so that its file is loaded where it arrives.

    made: what pickle makes of it otherwise.
    """
    file = file_of(cls)
    if file is None:
        return made
    function, arguments, *state = made
    # in this order: the class can be found by its name once the file is loaded
    return (_call, (file, function, arguments), *state)


def _arrived(path: str, digest: str) -> LoadedFile:
    load_file(Path(path), digest)
    return LoadedFile(path, digest)


def _call(_: LoadedFile, function: Any, arguments: Any) -> Any:
    return function(*arguments)
