"""Notifications about the news of a commit: by mail, to a webhook, or to a command."""

from typing import Final

FILE_VARIABLE: Final = "HARVEST_NOTIFY"
"""Environment variable with the path of a TOML file of settings."""

URL_VARIABLE: Final = "HARVEST_NOTIFY_URL"
"""Environment variable with the address of the webhook."""
