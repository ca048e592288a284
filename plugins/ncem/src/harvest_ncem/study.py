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

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, cast

import attrs

from harvest import ConfigError

from .durations import seconds

T = TypeVar("T")

Method: TypeAlias = Literal["streaming", "file_transfer"]
METHODS: tuple[Method, ...] = ("streaming", "file_transfer")
Missing: TypeAlias = Literal["exclude", "include"]
MISSING: tuple[Missing, ...] = ("exclude", "include")

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

    name: such as ``128x128``.  data_gb: data volume of a scan in 10^9 bytes.
    save_real_s, save_blank_s: seconds for saving a real and a blank scan; twice their difference is
        subtracted from the time of file transfer.
    offload_s: seconds of offload to use instead of the mean of the harvested scans.
    """

    name: str
    data_gb: float
    save_real_s: float | None = None
    save_blank_s: float | None = None
    offload_s: float | None = None

    @property
    def save_correction_s(self) -> float:
        """Correction to subtract: 2 * (real - blank); 0 if the study gives no save times."""
        if self.save_real_s is None or self.save_blank_s is None:
            return 0.0
        return 2.0 * (self.save_real_s - self.save_blank_s)


@attrs.frozen(kw_only=True)
class JobFilter:
    """Conditions on the study's Slurm jobs; None for no condition."""

    name_contains: str | None = None
    qos_contains: str | None = None
    req_nodes: int | None = None
    exit_code: int | None = None


@attrs.frozen(kw_only=True)
class Study:
    """A whole study.

    max_elapsed_s: maximum elapsed time by Distiller; None for no limit.
    missing_elapsed: whether jobs without an elapsed time in Distiller are excluded or included.
    clock_threshold_s: maximum spread between receivers that counts as synchronised.
    """

    name: str = ""
    ranges: tuple[Range, ...] = ()
    sizes: Mapping[str, Size] = attrs.field(factory=dict)
    pixels: tuple[int, int] = (576, 576)
    bytes_per_pixel: int = 2
    max_elapsed_s: float | None = None
    missing_elapsed: Missing = "exclude"
    jobs: JobFilter = JobFilter()
    clock_threshold_s: float = 2.0
    path: str | None = None

    def volume_gb(self, name: str) -> float:
        """Return a scan's volume in 10^9 bytes: positions x detector pixels x bytes per pixel."""
        positions = math.prod(int(number) for number in name.split("x"))
        return positions * math.prod(self.pixels) * self.bytes_per_pixel / 1e9


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
        text = file.read_text("utf-8")
    except OSError as error:
        raise ConfigError(
            f"the study cannot be read: {error.strerror}",
            where=str(file),
            remedy="give the path of a TOML file as the setting study",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError("not UTF-8 text", where=str(file), remedy="give a TOML file") from error
    try:
        top = _Table(tomllib.loads(text), "")
        return _study(top, str(file))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"not valid TOML: {error}", where=str(file), remedy="correct the file"
        ) from error
    except _WrongKeyError as error:
        raise ConfigError(str(error), where=str(file), remedy="correct the file") from error


class _WrongKeyError(ValueError):
    """Error for a key of the study that is unknown or has a wrong value."""


class _Table:
    """A TOML table whose keys are removed one by one; remaining keys are errors."""

    def __init__(self, values: object, name: str):
        if not isinstance(values, dict):
            raise _WrongKeyError(f"{name} must be a table")
        self.values = dict(values)
        self.name = name

    def full(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def take(self, key: str, convert: Callable[[Any], T], default: T) -> T:
        return self.need(key, convert) if key in self.values else default

    def need(self, key: str, convert: Callable[[Any], T]) -> T:
        if key not in self.values:
            raise _WrongKeyError(f"{self.full(key)} is missing")
        try:
            return convert(self.values.pop(key))
        except (ValueError, TypeError) as error:
            raise _WrongKeyError(f"{self.full(key)}: {error}") from error

    def table(self, key: str) -> _Table:
        return _Table(self.values.pop(key, {}), self.full(key))

    def done(self, known: str) -> None:
        for key in self.values:
            raise _WrongKeyError(f"{self.full(key)} is unknown; known are {known}")


def _study(top: _Table, path: str) -> Study:
    head = top.table("study")
    name = head.take("name", _text, "")
    head.done("name")
    detector = top.table("detector")
    pixels = detector.take("pixels", _pair, (576, 576))
    bytes_per_pixel = detector.take("bytes_per_pixel", _count, 2)
    detector.done("pixels, bytes_per_pixel")
    transfer = top.table("file_transfer")
    clocks = top.table("clock_check")
    study = Study(
        name=name,
        path=path,
        pixels=pixels,
        bytes_per_pixel=bytes_per_pixel,
        max_elapsed_s=transfer.take("max_elapsed", _duration, None),
        missing_elapsed=transfer.take("missing_elapsed", _among(MISSING), "exclude"),
        jobs=JobFilter(
            name_contains=transfer.take("name_contains", _text, None),
            qos_contains=transfer.take("qos_contains", _text, None),
            req_nodes=transfer.take("req_nodes", _count, None),
            exit_code=transfer.take("exit_code", _count, None),
        ),
        clock_threshold_s=clocks.take("threshold", _positive, 2.0),
        ranges=_ranges(top.values.pop("range", [])),
    )
    transfer.done("max_elapsed, missing_elapsed, name_contains, qos_contains, req_nodes, exit_code")
    clocks.done("threshold")
    sizes = top.table("sizes")
    found: dict[str, Size] = {}
    for key in list(sizes.values):
        size = _size(sizes.table(key), key, study)
        if size.name in found:
            raise _WrongKeyError(f"sizes.{key}: {size.name} is described twice")
        found[size.name] = size
    top.done("study, detector, file_transfer, clock_check, sizes, range")
    return attrs.evolve(study, sizes=found)


def _size(table: _Table, key: str, study: Study) -> Size:
    try:
        name = size_name(key)
    except ValueError as error:
        raise _WrongKeyError(f"sizes: {error}") from error
    save = table.table("subtract_save_time")
    given = bool(save.values)
    real = save.need("real", _positive) if given else None
    blank = save.need("blank", _positive) if given else None
    save.done("real, blank")
    size = Size(
        name=name,
        data_gb=table.take("data_gb", _positive_number, study.volume_gb(name)),
        save_real_s=real,
        save_blank_s=blank,
        offload_s=table.take("offload", _duration, None),
    )
    table.done("data_gb, subtract_save_time, offload")
    return size


def _ranges(values: object) -> tuple[Range, ...]:
    if not isinstance(values, list):
        raise _WrongKeyError("range must be an array of tables; write [[range]]")
    found: list[Range] = []
    for number, value in enumerate(values, 1):
        table = _Table(value, f"range {number}")
        first, last = table.need("scans", _pair)
        if first > last:
            raise _WrongKeyError(f"range {number}.scans: {first} comes after {last}")
        made = Range(
            size=table.need("size", size_name),
            method=table.need("method", _among(METHODS)),
            first=first,
            last=last,
        )
        table.done("size, method, scans")
        for other in found:
            if other.method == made.method and first <= other.last and other.first <= last:
                raise _WrongKeyError(
                    f"range {number}: scans {first} to {last} overlap those of another range "
                    f"for {made.method}, {other.first} to {other.last}"
                )
        found.append(made)
    return tuple(found)


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


def _among(words: tuple[T, ...]) -> Callable[[Any], T]:
    def check(value: Any) -> T:
        if value not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(map(str, words))}")
        return cast("T", value)

    return check
