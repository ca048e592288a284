"""Whether a list is percent-encoded: decided once for a list, from its lines together.

The clause ESCAPE '%' of the policy language encodes SHOW and path alike: each byte but letters,
digits, ``-_.~`` and those that the clause leaves alone (``'%/'``: the slash) becomes ``%XX``.
Without the clause a percent sign is itself, in SHOW as in names.  A single line may look like
either, since ``a%20b`` and ``100%`` are names too; the lines of a list all follow one rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

__all__ = ["Escaping", "decide"]


@attrs.frozen
class Escaping:
    """How a list is written.

    show: SHOW is percent-encoded; path: paths are.  Otherwise a newline is ``\\n`` and a backslash
        ``\\\\``.
    sure: whether a setting or the list's own lines prove that of paths.
    """

    show: bool
    path: bool
    sure: bool = True


_ESCAPE: Final = re.compile(rb"%[0-9a-fA-F]{2}")
_RAW: Final = re.compile(rb"[^A-Za-z0-9_.~/%-]|%(?![0-9a-fA-F]{2})")
_SLASH: Final = re.compile(rb"%2[Ff]")
_ENCODED: Final = re.compile(rb"(?:[A-Za-z0-9_.~/-]|%[0-9A-F]{2})*")
_NEVER_ENCODED: Final = re.compile(rb"%(?:00|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")


def decide(
    shows: Sequence[bytes], paths: Sequence[bytes], setting: str, *, rooted: bool
) -> Escaping:
    """How the list is written that these are from.

    setting: ``gpfs.escape``, which decides for paths unless it is ``auto``.
    rooted: paths begin with a slash, encoded or not; those of the record format do not.

    SHOW decides, where it has a byte that ESCAPE would encode, or an escape.  So do paths of which
    even the first slash is encoded.  Where SHOW has neither, as ``935``, paths decide, which may
    leave a doubt: no path shows that ``a%20b`` is not itself.
    """
    if setting == "none":
        return Escaping(show=False, path=False)
    show = _of_show(shows)
    if setting == "percent":
        return Escaping(show=show is not False, path=True)
    if rooted and sum(path.startswith((b"%2F", b"%2f")) for path in paths) * 2 > len(paths):
        return Escaping(show=show is not False, path=True)
    if show is not None:
        return Escaping(show=show, path=show)
    percent, sure = _of_paths(paths)
    return Escaping(show=percent, path=percent, sure=sure)


def _of_show(shows: Sequence[bytes]) -> bool | None:
    """Whether most of the lines whose SHOW proves something are encoded; None without such."""
    encoded = plain = 0
    for show in shows:
        if b" " in show or b":" in show:
            plain += 1
        elif _ESCAPE.search(show):
            encoded += 1
        elif _RAW.search(show):
            plain += 1
    return None if encoded == plain else encoded > plain


def _of_paths(paths: Sequence[bytes]) -> tuple[bool, bool]:
    """Whether paths are encoded, and whether they prove it."""
    fitting = [path for path in paths if _fits(path)]
    with_escapes = any(b"%" in path for path in fitting)
    if len(fitting) < len(paths):
        return False, not with_escapes
    return with_escapes, False


def _fits(path: bytes) -> bool:
    """Whether ESCAPE may have written a path: it encodes a byte always or never."""
    if not _ENCODED.fullmatch(path) or _NEVER_ENCODED.search(path):
        return False
    return b"/" not in path or not _SLASH.search(path)
