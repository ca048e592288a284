"""More bugs of an engine and of an exporter."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

READ: Final = ".collect().to_dicts()"
WRITTEN: Final = "    return [Path(target)]\n"
POLARS: Final = ("import harvest\n", "import polars as pl\n\nimport harvest\n")

ENGINES_MORE: Final = (
    Bug(
        "engine",
        "progress",
        "reports-of-idle-times",
        "Reports are passed on when no result comes: what the last bundles reported is missing.",
        (
            (
                "            self._report()\n",
                "            if not done:\n                self._report()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "bundles lost",
        "lost-with-its-worker",
        "A bundle counts as done when its worker ends, also where that was lost.",
        (
            (
                "                result = future.result()\n                del self.given[future]\n",
                "                del self.given[future]\n                result = future.result()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "private-files",
        "Workers have a umask of their own: what they stage, only the user can read.",
        (("    _reports = reports\n", "    _reports = reports\n    os.umask(0o077)\n"),),
    ),
    Bug(
        "engine",
        "surroundings",
        "main-thread-alone",
        "It sets a signal handler: in a thread, as a server or a notebook has them, no run is possible.",
        (
            (
                "        again: list[harvest.Bundle] = []\n",
                "        again: list[harvest.Bundle] = []\n"
                "        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "bare-environment",
        "Workers have no environment: sources find neither credentials nor home nor time zone.",
        (("    _reports = reports\n", "    _reports = reports\n    os.environ.clear()\n"),),
    ),
    Bug(
        "engine",
        "surroundings",
        "forked-workers",
        "Workers are forks of the run, with locks that its threads hold: now and then one stands still.",
        (('get_context("spawn")', 'get_context("fork")'),),
    ),
    Bug(
        "engine",
        "settings",
        "one-retry-less",
        "With 'retries = 3' workers are replaced twice.",
        (("if lost > self.config.retries:", "if lost >= max(1, self.config.retries):"),),
        "what a number of a setting counts, only its author knows",
    ),
    Bug(
        "engine",
        "interruptions",
        "finishes-what-is-in-hand",
        "A run that ends early waits for what workers have in hand, for hours.",
        (
            (
                "                pool.end()\n",
                "                wait(pool.given)\n                pool.end()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "others-children",
        "All child processes are killed at the end, those of the user's program too.",
        (("self.others = set(multiprocessing.active_children())", "self.others = set[Any]()"),),
    ),
    Bug(
        "engine",
        "types",
        "two-bytes-of-length",
        "A bundle is sent behind its length in two bytes: one with many partitions ends the run.",
        (
            ("import multiprocessing\n", "import multiprocessing\nimport pickle\nimport struct\n"),
            (
                "submit(_read, self.waiting[0])",
                "submit(_read, _packed(self.waiting[0]))",
            ),
            (
                "    return bundle.read(_reports.put)",
                "    return pickle.loads(bundle[2:]).read(_reports.put)",
            ),
            (
                "class _Pool:",
                "def _packed(bundle):\n    data = pickle.dumps(bundle)\n"
                '    return struct.pack(">H", len(data)) + data\n\n\nclass _Pool:',
            ),
        ),
    ),
    Bug(
        "engine",
        "settings",
        "at-least-two-workers",
        "With 'workers = 1' two read at a time.",
        (
            (
                "workers = self.workers or available_cores()",
                "workers = max(2, self.workers or available_cores())",
            ),
        ),
    ),
)

EXPORTERS_MORE: Final = (
    Bug(
        "exporter",
        "rows lost",
        "equal-rows-once",
        "Rows with equal values are written once.",
        (
            (READ, '.collect().unique(pl.exclude("position"), maintain_order=True).to_dicts()'),
            POLARS,
        ),
    ),
    Bug(
        "exporter",
        "rows lost",
        "types-without-rows-left-out",
        "A record type without rows is left out: nobody can tell it from one that is not exported.",
        (("for name in chosen}", "for name in chosen if rows(dataset, name)}"),),
        "whether a form has a place for a record type without rows is its own",
    ),
    Bug(
        "exporter",
        "surroundings",
        "rights-of-the-owner",
        "The file can be read by its owner alone, whatever the umask says.",
        ((WRITTEN, f"    Path(target).chmod(0o600)\n{WRITTEN}"),),
    ),
    Bug(
        "exporter",
        "left behind",
        "joined-with-the-old",
        "Record types that were at the target before stay there when the dataset has them no more.",
        (
            (
                "    with replacing(",
                "    old = json.loads(Path(target).read_text()) if Path(target).is_file() else {}\n"
                "    with replacing(",
            ),
            (
                "json.dump({name: rows(dataset, name) for name in chosen}",
                "json.dump({**old, **{name: rows(dataset, name) for name in chosen}}",
            ),
        ),
    ),
    Bug(
        "exporter",
        "state kept",
        "rows-remembered",
        "Rows are kept by the dataset's place: a second export of a process has those of the first.",
        (
            (
                "    return dataset[name].collect().to_dicts()",
                "    key = (str(dataset.sink.location), name)\n    if key not in KEPT:\n"
                "        KEPT[key] = dataset[name].collect().to_dicts()\n    return KEPT[key]",
            ),
            ("def rows(", "KEPT: dict[Any, Any] = {}\n\n\ndef rows("),
        ),
    ),
    Bug(
        "exporter",
        "times",
        "moment-of-the-export",
        "The time of the export is written: two of one dataset differ.",
        (
            ("import json\n", "import datetime\nimport json\n"),
            (
                "json.dump({name:",
                'json.dump({"exported": datetime.datetime.now(), **{name:',
            ),
            ("for name in chosen}", "for name in chosen}}"),
        ),
    ),
    Bug(
        "exporter",
        "times",
        "times-of-the-place",
        "Times are written in the zone of whoever exports.",
        (
            (
                "default=str)",
                'default=lambda x: str(x.astimezone()) if hasattr(x, "hour") else str(x))',
            ),
        ),
    ),
    Bug(
        "exporter",
        "left behind",
        "old-one-removed-first",
        "What is at the target is removed before settings are looked at: a wrong one costs the export.",
        (
            (
                "    if types is not None and",
                "    Path(target).unlink(missing_ok=True)\n    if types is not None and",
            ),
        ),
    ),
    Bug(
        "exporter",
        "surroundings",
        "prints-what-it-wrote",
        "It prints the target's name into what the user's program prints.",
        ((WRITTEN, f"    print(target)\n{WRITTEN}"),),
    ),
)
