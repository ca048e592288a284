"""Masking of secrets, recognized by name or within an address, as ``***``."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

MASK: Final = "***"

_SECRET: Final = re.compile(
    r"pass(word|wd|phrase|code)?($|[._-])|secret|token(?!iz)|credential|auth|private|jwt|cookie|signature"
    r"|(^|[._-])(api|access)?key($|[._-])",
    re.IGNORECASE,
)
_ACCOUNT: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_OPTION: Final = re.compile(r"--?([A-Za-z][\w.-]*)(=)?")


def mask_values(values: Mapping[str, str]) -> dict[str, str]:
    """Mask secrets in texts by name."""
    return {k: MASK if _SECRET.search(k) else mask_text(v) for k, v in values.items()}


def mask_text(text: str) -> str:
    """Mask the account in addresses of a text (``scheme://user:password@host``)."""
    return _ACCOUNT.sub(MASK, text)


def flat_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a nested configuration to texts by dotted name."""

    def walk(prefix: str, value: Any) -> Iterable[tuple[str, str]]:
        if isinstance(value, Mapping) and value:
            for name, inner in value.items():
                yield from walk(f"{prefix}.{name}" if prefix else str(name), inner)
        else:
            yield prefix, str(value)

    return dict(walk("", config))


def mask_arguments(words: Iterable[str]) -> list[str]:
    """Mask the values of options that look secret in a command's words."""
    masked: list[str] = []
    hide = False
    for word in words:
        option = _OPTION.match(word)
        if hide and option is None:
            masked.append(MASK)
            hide = False
            continue
        hide = False
        if option is not None and _SECRET.search(option[1]):
            hide = option[2] is None
            word = word if hide else f"{option[0]}{MASK}"
        masked.append(mask_text(word))
    return masked
