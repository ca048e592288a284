"""Python files that a user names: loaded once, and found again by other processes.

Such a file cannot be imported by name. It is loaded under a name made from its path and content.
Workers receive the path with a digest of the content: they load exactly the same file, or raise an
error.
"""

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
    """A loaded file: its absolute path, and a digest of its content at that time.

    Unpickling it in another process loads the file there.
    """

    path: str
    digest: str

    def __reduce__(self) -> Any:
        return (_arrived, (self.path, self.digest))


class _Loader(SourceFileLoader):
    """Loader that executes bytes already read, without a compiled copy next to the file."""

    def __init__(self, name: str, path: str, data: bytes):
        super().__init__(name, path)
        self._data = data

    def get_data(self, path: Any) -> bytes:
        return self._data

    def path_stats(self, path: Any) -> NoReturn:
        raise OSError("its compiled copy is neither read nor written")


def content_version(data: bytes) -> str:
    """Return a short, readable digest of a file's content."""
    return hashlib.sha256(data).hexdigest()[:12]


def load_file(path: Path, digest: str | None = None) -> ModuleType:
    """Execute a Python file as a module, unless it was loaded with the same content before.

    digest: expected digest of the content.
    Raises UsageError if the file cannot be read, and HarvestError if its content differs from
    ``digest``. Raises PluginError with the line if it is not Python or fails.
    """
    path = path.expanduser().absolute()
    try:
        data = path.read_bytes()
    except OSError as error:
        problem = f"the file of a plugin cannot be read: {error.strerror}"
        raise UsageError(problem, where=str(path), remedy="check the path") from error
    found = content_version(data)
    if digest not in (None, found):
        problem = "the file of a plugin has changed since the run began"
        raise HarvestError(problem, where=str(path), remedy="run again")
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
    sys.modules[name] = module  # classes in the file look up their module
    try:
        with contained():
            loader.exec_module(module)
    # show any error in a user's file, including an exit, with its line
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
    """Return the file from which a class was loaded; None for an ordinary module."""
    return getattr(sys.modules.get(cls.__module__), _ATTRIBUTE, None)


def loaded_file(module: ModuleType) -> LoadedFile:
    """Return the file of a module from ``load_file``."""
    found: LoadedFile = getattr(module, _ATTRIBUTE)
    return found


def reduced(cls: type, made: Any) -> Any:
    """Return the pickle form of an instance of ``cls``; unpickling loads its file first.

    made: the ordinary pickle form.
    """
    file = file_of(cls)
    if file is None:
        return made
    function, arguments, *state = made
    # order matters: the class can be found by name only after the file is loaded
    return (_call, (file, function, arguments), *state)


def _arrived(path: str, digest: str) -> LoadedFile:
    load_file(Path(path), digest)
    return LoadedFile(path, digest)


def _call(_: LoadedFile, function: Any, arguments: Any) -> Any:
    return function(*arguments)
