"""Settings of notifications: those of the recipe override those of a file for all runs."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from harvest import ConfigError
from harvest.commands.declared import config_from
from harvest.findings import SEVERITIES
from harvest.toolkit.settings import one_of, positive, setting

FILE_VARIABLE: Final = "HARVEST_NOTIFY"
"""Environment variable with the path of a TOML file of settings."""

URL_VARIABLE: Final = "HARVEST_NOTIFY_URL"
"""Environment variable with the address of the webhook."""


@attrs.frozen(kw_only=True)
class Config:
    """Settings of ``notify``."""

    mail_to: tuple[str, ...] = setting("addresses that get a mail", ())
    mail_from: str | None = setting("its sender; the user at this host unless given")
    smtp: str = setting("HOST:PORT of the mail server", "localhost:25")
    sendmail: str | None = setting("program that takes the mail instead of a server")
    url_file: str | None = setting("file with the address of a webhook")
    command: tuple[str, ...] = setting("program and arguments; it gets JSON", ())
    severity: str = setting("the least severe findings to send", "medium", one_of(SEVERITIES))
    view: str | None = setting("NAME or NAME:KEY=VALUE of a view to send as a table")
    columns: tuple[str, ...] = setting("columns of the table, all unless given", ())
    sort: str | None = setting("COLUMN that sorts the table, or -COLUMN for the largest first")
    limit: int = setting("rows of the table at most", 20, positive)
    timeout_s: float = setting("seconds that each receiver may take", 10.0, positive)
    state: str | None = setting("directory that keeps what was sent")

    @property
    def receivers(self) -> list[str]:
        """Configured receivers: ``mail``, ``webhook``, ``command``."""
        webhook = self.url_file or os.environ.get(URL_VARIABLE)
        given = (("mail", self.mail_to), ("webhook", webhook), ("command", self.command))
        return [name for name, value in given if value]

    @property
    def folder(self) -> Path:
        """Directory of the record of sent news."""
        home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        return Path(self.state or f"{home}/harvest/notify").expanduser()


def configured(given: Mapping[str, Any]) -> Config:
    """Merge a recipe's settings over those of the file; raises ConfigError for invalid ones."""
    file = os.environ.get(FILE_VARIABLE)
    values = {**(_read(Path(file).expanduser()) if file else {}), **given}
    if "url" in values:
        raise ConfigError(
            "the address of a webhook is a secret, and settings are recorded",
            where="notify.url",
            remedy=f"give its file as notify.url_file, or set {URL_VARIABLE}",
        )
    made: Config = config_from(Config, values, plugin="notify")
    for key, value in values.items():
        items = value if isinstance(value, (list, tuple)) else [value]
        text = all(isinstance(item, str) for item in items)
        if not text and key.replace("-", "_") not in ("timeout_s", "limit"):
            raise ConfigError(f"{value!r} does not fit: must be text", where=f"notify.{key}")
    return made


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}",
            where=str(path),
            remedy=f"correct the path in {FILE_VARIABLE}",
        ) from error
    except ValueError as error:
        raise ConfigError(f"invalid TOML: {error}", where=str(path)) from error
