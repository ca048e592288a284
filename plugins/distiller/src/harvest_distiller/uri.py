"""Recognise locations of databases, and show them without secrets."""

import re
from urllib.parse import unquote

_SCHEME = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)
_URI = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PARAMETER = re.compile(r"([?&])([^=&#]*)=([^&#]*)")
_SECRET_KEY = re.compile(r"password|secret", re.IGNORECASE)
# libpq's other form, ``host=... password=...``, is not a valid location here, but users may try it
_WORD = re.compile(r"(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'?|\S+)")
HIDDEN = "***"


def is_database(location: str) -> bool:
    """Whether a location is the URI of a PostgreSQL database."""
    return _SCHEME.match(location.strip()) is not None


def is_uri(location: str) -> bool:
    """Whether a location is a URI with any scheme, and not a path."""
    return _URI.match(location.strip()) is not None


def _split(location: str) -> tuple[str, str, str | None, str]:
    """Split a URI into scheme with slashes, user, password, and the rest from the host on.

    The password ends at the last @ before the query. So a password with reserved characters that
    are not percent-encoded is hidden, too, although the URI is not valid.
    """
    location = location.strip()
    found = _URI.match(location)
    scheme = found[0] if found else ""
    rest = location[len(scheme) :]
    authority, question, query = rest.partition("?")
    if "@" in query and "=" not in query.partition("@")[0]:  # a raw ? in the password
        authority, question, query = rest, "", ""
    user_info, at, host = authority.rpartition("@")
    if not at:
        return scheme, "", None, rest
    user, colon, password = user_info.partition(":")
    return scheme, user, password if colon else None, f"{host}{question}{query}"


def redact(location: str) -> str:
    """Return the location without its password, so that it can be printed and stored.

    Passwords are removed from URIs of all schemes, since an error shows a mistyped scheme.
    """
    if not is_uri(location):
        return _WORD.sub(rf"\1{HIDDEN}", location)
    scheme, user, _, rest = _split(location)
    rest = _PARAMETER.sub(lambda m: f"{m[1]}{m[2]}={HIDDEN}" if _is_secret(m) else m[0], rest)
    return f"{scheme}{user}@{rest}" if user else f"{scheme}{rest}"


def _is_secret(parameter: re.Match[str]) -> bool:
    """Whether a parameter is a secret by its key, which may be percent-encoded."""
    return _SECRET_KEY.search(unquote(parameter[2])) is not None


def secrets(location: str) -> list[str]:
    """Return all secrets of a URI, both as written and percent-decoded, the longest first."""
    if not is_database(location):
        return []
    _, _, password, rest = _split(location)
    found = {m[3] for m in _PARAMETER.finditer(rest) if _is_secret(m)} | {password or ""}
    return sorted({*found, *(unquote(s) for s in found)} - {""}, key=len, reverse=True)


def scrub(message: str, hidden: list[str]) -> str:
    """Replace the given secrets in a message, and join its lines into one."""
    for secret in hidden:
        message = message.replace(secret, HIDDEN)
    return " ".join(message.split())
