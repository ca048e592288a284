"""Kernels whose machine code is kept on disk, and loaded from there without numba.

numba takes half a second to be imported and to load what it kept, in every process; llvmlite, on
which it stands, needs a tenth of that.  So a kernel that is to serve many short processes is a
function on pointers and numbers, without arrays or other objects of the interpreter::

    @native(types.void(types.CPointer(types.uint8), types.int64))
    def fill(data, count):
        for place in range(count):
            data[place] = 1

and those who call it load it by name, and never import its module::

    fill = native.load("mypackage.kernels", "fill")
    fill(array.ctypes.data, len(array))

The machine code is kept beside the compiled Python of its module, or where ``NUMBA_CACHE_DIR``
says, or in the user's cache directory.  It is made anew when the module's file, numba or the kind
of processor is another one.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Any, Final

import attrs

__all__ = ["Kernel", "load", "native"]

_FORM: Final = 2
"""Of the files; part of their names."""

_LIBRARY: Final = frozenset({"memcpy", "memmove", "memset"})
"""What a kernel may call: LLVM makes these of loops."""

_loaded: dict[tuple[str, str], tuple[Callable[..., None], Any]] = {}
"""Kernels of this process, and what owns their code."""


@attrs.frozen
class Kernel:
    """A function on pointers and numbers that numba can compile.

    signature: numba's, which gives nothing and takes pointers (``CPointer``), ``int64`` and
    ``float64``.
    """

    function: Callable[..., None]
    signature: Any

    def code(self) -> _Code:
        """Compile it for this machine.

        Raises TypeError when it needs more than the pointers and numbers it is given: arrays, or
        an exception that it may raise.
        """
        import llvmlite.binding as llvm
        import numba

        types: Any = numba.types
        letters = {types.int64: "q", types.float64: "d"}
        takes = [
            "P" if isinstance(kind, types.CPointer) else letters.get(kind, "")
            for kind in self.signature.args
        ]
        name = self.function.__qualname__
        if self.signature.return_type != types.void or not all(takes):
            raise TypeError(f"{name}: a native kernel takes pointers, int64 and float64")
        compiled = numba.cfunc(self.signature)(self.function)
        module = llvm.parse_assembly(compiled.inspect_llvm())
        needed = {
            function.name
            for function in module.functions
            if function.is_declaration and not function.name.startswith("llvm.")
        }
        if more := sorted(needed - _LIBRARY):
            raise TypeError(f"{name}: a native kernel cannot use {', '.join(more)}")
        return _Code(compiled.native_name, "".join(takes), _machine(llvm).emit_object(module))


def native(signature: Any) -> Callable[[Callable[..., None]], Kernel]:
    """Make a function a kernel with numba's signature; see :class:`Kernel`."""
    return lambda function: Kernel(function, signature)


def load(module: str, name: str) -> Callable[..., None]:
    """A kernel of a module, compiled if it is not kept.

    What it gives takes addresses and numbers, runs outside the interpreter's lock, and checks
    nothing: what it is given must be as the kernel says.  Raises ImportError for an unknown
    module, or numba is not installed.
    """
    if (module, name) not in _loaded:
        _loaded[module, name] = _link(_load_code(module, name) or _compile(module, name))
    return _loaded[module, name][0]


@attrs.frozen
class _Code:
    """Machine code of a kernel.

    symbol: its name there; takes: a letter for each argument, as in ``struct``.
    """

    symbol: str
    takes: str
    object: bytes

    def to_bytes(self) -> bytes:
        head = {"symbol": self.symbol, "takes": self.takes, "sha256": self._digest()}
        return json.dumps(head).encode() + b"\n" + self.object

    @classmethod
    def from_bytes(cls, data: bytes) -> _Code | None:
        """What a file holds; None where it is damaged."""
        head, _, rest = data.partition(b"\n")
        try:
            fields = json.loads(head)
            code = cls(fields["symbol"], fields["takes"], rest)
            return code if fields["sha256"] == code._digest() else None
        except (ValueError, LookupError, TypeError):
            return None

    def _digest(self) -> str:
        return _digest(self.symbol.encode(), self.takes.encode(), self.object)


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


_TYPES: Final = {"P": ctypes.c_void_p, "q": ctypes.c_int64, "d": ctypes.c_double}


def _link(code: _Code) -> tuple[Callable[..., None], Any]:
    """A kernel as a function, and the owner of its code."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(llvm))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.object))
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, *(_TYPES[letter] for letter in code.takes))
    return kind(engine.get_function_address(code.symbol)), engine


def _machine(llvm: Any) -> Any:
    """This machine, for LLVM."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        # as numba does: code that is linked in memory lies far from what it calls
        reloc={"x86": "static", "ppc": "pic"}.get(target.name[:3], "default"),
        codemodel="jitdefault",
        jit=True,
    )


def _load_code(module: str, name: str) -> _Code | None:
    """What is kept of a kernel, if it is there and whole."""
    for place in _places(_source(module)):
        with contextlib.suppress(OSError):
            code = _Code.from_bytes((place / _file(module, name)).read_bytes())
            if code is not None:
                return code
    return None


def _compile(module: str, name: str) -> _Code:
    """A kernel compiled now, and kept where that is possible."""
    kernel = getattr(importlib.import_module(module), name)
    code: _Code = kernel.code()
    file = _file(module, name)
    for place in _places(_source(module)):
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            _write(place / file, code.to_bytes())
            break
    return code


def _write(path: Path, data: bytes) -> None:
    """Write a file that others see whole or not at all."""
    # processes of other machines may write here too, with the same number as this one
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _source(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)
    return Path(spec.origin)


def _places(source: Path) -> Iterator[Path]:
    """Where code may be kept, the first choice first."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named)
    yield Path(cache_from_source(str(source))).parent
    if caches := os.environ.get("XDG_CACHE_HOME"):
        yield Path(caches) / "harvest"
    elif home := os.environ.get("HOME"):
        yield Path(home) / ".cache" / "harvest"


def _file(module: str, name: str) -> str:
    """The file that keeps a kernel: for its source, its compiler, and processors of this kind."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    made_by = (version("numba"), version("llvmlite"), sys.platform, llvm.get_host_cpu_name())
    key = _digest(_source(module).read_bytes(), *(part.encode() for part in (*made_by, features)))
    return f"{module}.{name}-{_FORM}-{key[:24]}.o"
