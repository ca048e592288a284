"""The study: the scans of each size and method, and limits for durations and clocks.

A user writes it once, as TOML::

    [study]
    name = "128 to 1024"

    [detector]
    pixels = [576, 576]
    bytes_per_pixel = 2

    [file_transfer]
    max_elapsed = "29m"

    [sizes.128x128]
    subtract_save_time = { real = "254.895ms", blank = "26.997ms" }

    [[range]]
    size = "128x128"
    method = "streaming"
    scans = [2709, 3688]

Every key is optional. An unknown key is an error, so that a misspelt key is not silently ignored.
"""

import math
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import attrs

from harvest import ConfigError

from .durations import seconds

Method: TypeAlias = Literal["streaming", "file_transfer"]
METHODS: tuple[Method, ...] = ("streaming", "file_transfer")
MISSING: Final = ("exclude", "include")

MOST_SCANS: Final = 1_000_000
"""Maximum number of scans in a range: in a view, each one that nothing has is a row."""

_SIZE = re.compile(r"(\d+)(?:\s*[x_×]\s*(\d+))?")


@attrs.frozen(kw_only=True)
class Range:
    """A range of scans, both ends included, with one size and one method."""

    size: str
    method: Method
    first: int
    last: int


@attrs.frozen(kw_only=True)
class Size:
    """Properties of a scan size.

    data_gb: data volume of a scan in 10^9 bytes.
    save_correction_s: seconds to subtract from the time of file transfer: twice the difference
        between saving a real and a blank scan.
    offload_s: seconds of offload to use instead of the mean of the harvested scans.
    """

    data_gb: float
    save_correction_s: float = 0.0
    offload_s: float | None = None


@attrs.frozen(kw_only=True)
class Study:
    """A whole study.

    max_elapsed_s: maximum elapsed time by Distiller; None for no limit.
    jobs: conditions on the study's Slurm jobs: ``name_contains``, ``qos_contains``, ``req_nodes``,
        ``exit_code``; without a key, no condition.
    missing_elapsed: whether jobs without an elapsed time in Distiller are excluded or included.
    clock_threshold_s: maximum spread between receivers that counts as synchronised.
    """

    name: str = ""
    ranges: tuple[Range, ...] = ()
    sizes: Mapping[str, Size] = attrs.field(factory=dict)
    jobs: Mapping[str, Any] = attrs.field(factory=dict)
    pixels: tuple[int, int] = (576, 576)
    bytes_per_pixel: int = 2
    max_elapsed_s: float | None = None
    missing_elapsed: str = "exclude"
    clock_threshold_s: float = 2.0
    path: str | None = None

    def volume_gb(self, name: str) -> float:
        """Return a scan's volume in 10^9 bytes: positions x detector pixels x bytes per pixel."""
        return positions_of(name) * math.prod(self.pixels) * self.bytes_per_pixel / 1e9


def positions_of(size: str) -> int:
    """Return the number of positions of a size such as 128x128."""
    return math.prod(int(side) for side in size.split("x"))


def size_name(value: object) -> str:
    """Normalise a size to ``128x128``; also accepts 128, ``128_128`` or ``128 x 128``."""
    found = _SIZE.fullmatch(str(value).strip())
    if found is None or isinstance(value, bool):
        raise ValueError(f"{value!r} is not a scan size; write it like 128x128")
    first = int(found[1])
    return f"{first}x{int(found[2]) if found[2] else first}"


def load_study(path: str | Path | Study | None) -> Study:
    """Read a study; None gives one without ranges and limits, a Study is returned unchanged.

    Raises ConfigError with the file and the key that is wrong.
    """
    if path is None:
        return Study()
    if isinstance(path, Study):
        return path
    file = Path(path).expanduser().absolute()
    try:
        return _study(tomllib.loads(file.read_text("utf-8-sig")), str(file))
    except OSError as error:
        raise ConfigError(
            f"the study cannot be read: {error.strerror}",
            where=str(file),
            remedy="give the path of a TOML file as the setting study",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError("not UTF-8 text", where=str(file), remedy="give a TOML file") from error
    except ValueError as error:  # of the syntax, or of a key
        said = "not valid TOML: " if isinstance(error, tomllib.TOMLDecodeError) else ""
        raise ConfigError(f"{said}{error}", where=str(file), remedy="correct the file") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a whole number from 0")
    return value


def _pair(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{value!r} is not a pair of whole numbers, such as [2709, 3688]")
    return _count(value[0]), _count(value[1])


def _duration(value: Any) -> float:
    number = seconds(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a duration")
    return number


def _positive(value: Any) -> float:
    number = _duration(value)
    if number < 0:
        raise ValueError(f"{value!r} is negative")
    return number


def _positive_number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError(f"{value!r} is not a number from 0")
    return float(value)


def _among(words: Sequence[str]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(words)}")
        return str(value)

    return check


Checks: TypeAlias = Mapping[str, Callable[[Any], Any]]
"""Functions that check and convert the values of a table, by key."""

_FILTERS: Final[Checks] = {
    "name_contains": _text,
    "qos_contains": _text,
    "req_nodes": _count,
    "exit_code": _count,
}
_TABLES: Final[Mapping[str, Checks]] = {
    "study": {"name": _text},
    "detector": {"pixels": _pair, "bytes_per_pixel": _count},
    "file_transfer": {"max_elapsed": _duration, "missing_elapsed": _among(MISSING), **_FILTERS},
    "clock_check": {"threshold": _positive},
}
_KNOWN: Final = (*_TABLES, "sizes", "range")
_RENAMED: Final = {"max_elapsed": "max_elapsed_s", "threshold": "clock_threshold_s"}
_OF_SIZE: Final[Checks] = {
    "data_gb": _positive_number,
    "subtract_save_time": lambda table: table,
    "offload": _duration,
}
_SAVE: Final[Checks] = {"real": _positive, "blank": _positive}
_RANGE: Final[Checks] = {"size": size_name, "method": _among(METHODS), "scans": _pair}


def _checked(
    values: object, name: str, checks: Checks, needed: Collection[str] = ()
) -> dict[str, Any]:
    """Convert the values of a table; raise an error for a wrong, unknown or missing key."""
    if not isinstance(values, dict):
        raise ValueError(f"{name} must be a table")
    for key in needed:
        if key not in values:
            raise ValueError(f"{name}.{key} is missing")
    found = {}
    for key, value in values.items():
        if key not in checks:
            raise ValueError(f"{name}.{key} is unknown; known are {', '.join(checks)}")
        try:
            found[key] = checks[key](value)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}.{key}: {error}") from error
    return found


def _study(top: dict[str, Any], path: str) -> Study:
    for key in top:
        if key not in _KNOWN:
            raise ValueError(f"{key} is unknown; known are {', '.join(_KNOWN)}")
    given: dict[str, Any] = {}
    for name, checks in _TABLES.items():
        given |= _checked(top.get(name, {}), name, checks)
    jobs = {key: given.pop(key) for key in _FILTERS if key in given}
    study = Study(
        path=path,
        jobs=jobs,
        ranges=_ranges(top.get("range", [])),
        **{_RENAMED.get(key, key): value for key, value in given.items()},
    )
    return attrs.evolve(study, sizes=_sizes(top.get("sizes", {}), study))


def _sizes(values: Any, study: Study) -> dict[str, Size]:
    found: dict[str, Size] = {}
    if not isinstance(values, dict):
        raise ValueError("sizes must be a table")
    for key, table in values.items():
        try:
            name = size_name(key)
        except ValueError as error:
            raise ValueError(f"sizes: {error}") from error
        if name in found:
            raise ValueError(f"sizes.{key}: {name} is described twice")
        size = _checked(table, f"sizes.{key}", _OF_SIZE)
        save = size.pop("subtract_save_time", {})
        save = _checked(save, f"sizes.{key}.subtract_save_time", _SAVE, _SAVE if save else ())
        found[name] = Size(
            data_gb=size.get("data_gb", study.volume_gb(name)),
            save_correction_s=2.0 * (save["real"] - save["blank"]) if save else 0.0,
            offload_s=size.get("offload"),
        )
    return found


def _ranges(values: object) -> tuple[Range, ...]:
    if not isinstance(values, list):
        raise ValueError("range must be an array of tables; write [[range]]")
    found: list[Range] = []
    for number, value in enumerate(values, 1):
        given = _checked(value, f"range {number}", _RANGE, _RANGE)
        first, last = given.pop("scans")
        if first > last:
            raise ValueError(f"range {number}.scans: {first} comes after {last}")
        if last - first >= MOST_SCANS:
            raise ValueError(
                f"range {number}.scans: {first} to {last} are more than {MOST_SCANS:,} scans"
            )
        made = Range(first=first, last=last, **given)
        for other in found:
            if other.method == made.method and first <= other.last and other.first <= last:
                raise ValueError(
                    f"range {number}: scans {first} to {last} overlap those of another range "
                    f"for {made.method}, {other.first} to {other.last}"
                )
        found.append(made)
    return tuple(found)
