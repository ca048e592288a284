"""Notifications about the news of a commit: by mail, to a webhook, or to a command."""
