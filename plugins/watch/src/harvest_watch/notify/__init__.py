"""Says what a commit brought: by mail, to a webhook, or to a command."""
