"""Who is to hear what: settings of the recipe, on top of those of a file for all runs."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from harvest import ConfigError
from harvest.errors import suggestion
from harvest.findings import SEVERITIES
from harvest.toolkit.settings import one_of, positive, setting

FILE_VARIABLE: Final = "HARVEST_NOTIFY"
"""Environment variable with the path of a TOML file of settings."""

URL_VARIABLE: Final = "HARVEST_NOTIFY_URL"
"""Environment variable with the address of the webhook."""

_TEXTS: Final = ("mail_to", "command")


@attrs.frozen(kw_only=True)
class Config:
    """Settings of ``notify``."""

    mail_to: tuple[str, ...] = setting("addresses that get a mail", ())
    mail_from: str | None = setting("its sender; the user at this host unless given")
    smtp: str = setting("HOST:PORT of the mail server", "localhost:25")
    sendmail: str | None = setting("program that takes the mail in place of a server")
    url_file: str | None = setting("file with the address of a webhook")
    command: tuple[str, ...] = setting("program and arguments; it gets JSON", ())
    severity: str = setting("findings from this on", "medium", one_of(SEVERITIES))
    timeout_s: float = setting("seconds that each receiver may take", 10.0, positive)
    state: str | None = setting("directory that keeps what was said")

    @property
    def receivers(self) -> list[str]:
        """Who is to hear: ``mail``, ``webhook``, ``command``."""
        webhook = self.url_file or os.environ.get(URL_VARIABLE)
        given = (("mail", self.mail_to), ("webhook", webhook), ("command", self.command))
        return [name for name, value in given if value]

    @property
    def folder(self) -> Path:
        """The directory that keeps what was said."""
        home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        return Path(self.state or f"{home}/harvest/notify").expanduser()


def configured(given: Mapping[str, Any]) -> Config:
    """The settings of a recipe on top of those of the file; raises ConfigError for others."""
    file = os.environ.get(FILE_VARIABLE)
    values = {**(_read(Path(file).expanduser()) if file else {}), **given}
    known = {field.name: field for field in attrs.fields(Config)}
    made: dict[str, Any] = {}
    for key, value in values.items():
        name = key.replace("-", "_")
        if name == "url":
            raise ConfigError(
                "the address of a webhook is a secret, and settings are recorded",
                where="notify.url",
                remedy=f"give its file as notify.url_file, or set {URL_VARIABLE}",
            )
        if name not in known:
            raise ConfigError(
                f"'notify' has no setting {key!r}",
                where=f"notify.{key}",
                remedy=suggestion(name, known),
            )
        made[name] = _value(name, value, str(known[name].metadata["doc"]))
    try:
        return Config(**made)
    except ValueError as error:
        raise ConfigError(str(error), where="notify") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}", where=str(path), remedy=f"mend {FILE_VARIABLE}"
        ) from error
    except ValueError as error:
        raise ConfigError(f"invalid TOML: {error}", where=str(path)) from error


def _value(name: str, value: Any, doc: str) -> Any:
    if name in _TEXTS:
        texts = value.split(",") if isinstance(value, str) else value
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return tuple(text.strip() for text in texts if text.strip())
    elif name == "timeout_s":
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    elif isinstance(value, str):
        return value
    raise ConfigError(f"{value!r} does not fit", where=f"notify.{name}", remedy=doc)
