"""What makes other programs run a harvest at set times: cron, systemd, Slurm's scrontab.

Text is printed and nothing installed.  Each of them reads its lines in a way of its own, so that
names are quoted for the one that reads them; a name that one of them cannot be given is refused.
"""

from __future__ import annotations

from .forms import FORMS, Entry

__all__ = ["FORMS", "Entry"]
