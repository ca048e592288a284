"""Bugs of an engine."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

AGAIN: Final = "again = [*pool.given.values(), *pool.waiting]"
LOST: Final = "            except BrokenProcessPool as error:\n"

ENGINES: Final = (
    Bug(
        "engine",
        "bundles lost",
        "last-bundle-lost",
        "The last bundle in hand is dropped when the others are done.",
        (("            if not self.given:\n", "            if len(self.given) < 2:\n"),),
    ),
    Bug(
        "engine",
        "bundles lost",
        "failures-passed-over",
        "What a bundle raises is passed over, and its result is missing.",
        (
            (
                "                result = future.result()\n",
                "                if future.exception() is not None:\n                    del self.given[future]\n"
                "                    continue\n                result = future.result()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "bundles lost",
        "lost-workers-bundles",
        "What a lost worker had in hand is not given out again.",
        ((AGAIN, "again = []"),),
    ),
    Bug(
        "engine",
        "memory",
        "all-bundles-at-once",
        "All bundles are made before the first is read: a million partitions fill the memory.",
        (
            (
                "bundles = map(harvest.Bundle.prepare, work.bundles)",
                "bundles = iter(list(map(harvest.Bundle.prepare, work.bundles)))",
            ),
        ),
    ),
    Bug(
        "engine",
        "interruptions",
        "interrupt-unheard",
        "Ctrl-C is not noticed until all is read.",
        (("            interrupt.check()\n", ""),),
        "harvest itself ends a run that does not hear within a second, with the same exit code",
    ),
    Bug(
        "engine",
        "interruptions",
        "workers-live-on",
        "Workers read on when the run has been interrupted.",
        (("            worker.kill()\n", "            pass\n"),),
    ),
    Bug(
        "engine",
        "position",
        "prepared-by-workers",
        "Bundles are prepared by the workers, each on its own and in no order.",
        (
            ("bundles = map(harvest.Bundle.prepare, work.bundles)", "bundles = iter(work.bundles)"),
            (
                "    return bundle.read(_reports.put)",
                "    return bundle.prepare().read(_reports.put)",
            ),
        ),
    ),
    Bug(
        "engine",
        "progress",
        "engine-tells-nothing",
        "Progress is not passed on.",
        (("            self._report()\n", ""),),
    ),
    Bug(
        "engine",
        "settings",
        "workers-ignored",
        "The number of workers that the user gives is ignored.",
        (("workers = self.workers or available_cores()", "workers = available_cores()"),),
    ),
    Bug(
        "engine",
        "bundles lost",
        "bundle-in-between-lost",
        "A bundle that is being given out when a worker is lost is in nobody's hands, and lost.",
        (
            (
                "                future = self.pool.submit(_read, self.waiting[0])  # it raises, too\n"
                "                self.given[future] = self.waiting.popleft()\n",
                "                bundle = self.waiting.popleft()\n"
                "                self.given[self.pool.submit(_read, bundle)] = bundle\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "results held back",
        "results-at-the-end",
        "Results are gathered and given when all is done: a user sees nothing, and memory grows.",
        (("for result in pool.results(bundles):", "for result in list(pool.results(bundles)):"),),
    ),
    Bug(
        "engine",
        "results held back",
        "results-in-order",
        "Results are given in the order of the bundles: one that takes long holds up all others.",
        (
            (
                "wait(self.given, interrupt.POLL_S, FIRST_COMPLETED)",
                "wait([next(iter(self.given))], interrupt.POLL_S, FIRST_COMPLETED)",
            ),
        ),
    ),
    Bug(
        "engine",
        "results held back",
        "one-after-the-other",
        "A bundle is given out when the one before is done: all workers but one have nothing to do.",
        (
            (
                "room = self.ahead - len(self.given) - len(self.waiting)",
                "room = 1 - len(self.given) - len(self.waiting)",
            ),
        ),
    ),
    Bug(
        "engine",
        "errors changed",
        "error-of-its-own",
        "What a bundle raises comes as an error of the engine: remedy and exit code are lost.",
        (
            (
                "                result = future.result()\n",
                "                try:\n                    result = future.result()\n"
                "                except harvest.HarvestError as error:\n"
                '                    raise harvest.HarvestError(f"a worker failed: {error}") from error\n',
            ),
        ),
    ),
    Bug(
        "engine",
        "errors changed",
        "full-disk-is-a-lost-worker",
        "A full disk is taken for a lost worker: it is tried again, and another error is told.",
        ((LOST, LOST.replace("BrokenProcessPool", "(BrokenProcessPool, OSError)")),),
    ),
    Bug(
        "engine",
        "errors changed",
        "where-is-lost",
        "Of an error only the text is passed on, and not where it was and what can be done.",
        (
            (
                "                result = future.result()\n",
                "                try:\n                    result = future.result()\n"
                "                except harvest.HarvestError as error:\n"
                "                    raise type(error)(error.message) from error\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "errors swallowed",
        "errors-at-the-end",
        "An error is raised when all else has been read: the user waits hours for it.",
        (
            (
                "                result = future.result()\n",
                "                if isinstance(future.exception(), harvest.HarvestError):\n"
                "                    KEPT.append((future.exception(), self.given.pop(future)))\n"
                "                    continue\n                result = future.result()\n",
            ),
            (
                "            if not self.given:\n",
                "            if not self.given and KEPT:\n                raise KEPT[0][0]\n"
                "            if not self.given:\n",
            ),
            ("class _Pool:", "KEPT = []\n\n\nclass _Pool:"),
        ),
    ),
    Bug(
        "engine",
        "state kept",
        "given-to-all-pools",
        "What a run had in hand when it failed is still there for the next run of the process.",
        (
            ("        self.given: dict[Future[harvest.Result], harvest.Bundle] = {}\n", ""),
            (
                "    def __init__(self, workers: int, work: harvest.Work, again",
                "    given: dict = {}\n\n    def __init__(self, workers: int, work: harvest.Work, again",
            ),
        ),
    ),
    Bug(
        "engine",
        "left behind",
        "workers-of-a-failed-run",
        "Workers are ended where all goes well; after an error they read what they have in hand.",
        (
            (
                "                return\n            except",
                "                pool.end()\n                return\n            except",
            ),
            ("            finally:\n                pool.end()\n", ""),
        ),
    ),
    Bug(
        "engine",
        "left behind",
        "directory-of-a-pool",
        "Each pool makes a directory for temporary files, which stays.",
        (
            ("import signal\n", "import signal\nimport tempfile\n"),
            (
                "        self.reports = SPAWN.SimpleQueue()\n",
                "        self.reports = SPAWN.SimpleQueue()\n        self.place = tempfile.mkdtemp()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "left behind",
        "orphans",
        "Workers of a run that was killed live on, and wait for ever for what nobody gives them.",
        (("    threading.Thread(target=_end_with_the_run, daemon=True).start()\n", ""),),
    ),
    Bug(
        "engine",
        "surroundings",
        "one-run-on-a-machine",
        "Runs share a file of a fixed name: two at a time cannot be, nor one after a killed one.",
        (
            ("import signal\n", "import signal\nimport tempfile\n"),
            (
                "        self.reports = SPAWN.SimpleQueue()\n",
                "        self.reports = SPAWN.SimpleQueue()\n"
                '        self.lock = open(f"{tempfile.gettempdir()}/futures.lock", "x")\n',
            ),
            (
                "        self.pool.shutdown(cancel_futures=True)\n",
                "        self.pool.shutdown(cancel_futures=True)\n        os.unlink(self.lock.name)\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "workers-elsewhere",
        "Workers have another working directory, and relative paths lead nowhere.",
        (
            (
                "    _reports = reports\n",
                '    _reports = reports\n    os.chdir("/")\n',
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "threads-of-the-run",
        "The number of threads for workers is set in the environment of the user's program.",
        (
            (
                "        self.reports = SPAWN.SimpleQueue()\n",
                "        self.reports = SPAWN.SimpleQueue()\n"
                '        os.environ["OMP_NUM_THREADS"] = "1"\n',
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "print-of-each-result",
        "A line for each result is printed into what the user's program prints.",
        (
            (
                "                    lost = 0\n",
                "                    lost = 0\n                    print(result.origins)\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "output-into-a-pipe",
        "What workers print goes to a pipe that nobody reads: one that prints much stands still.",
        (
            (
                "    _reports = reports\n",
                "    _reports = reports\n    os.dup2(os.pipe()[1], 1)\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "names",
        "names-as-utf-8",
        "Bundles travel as UTF-8, which a file's name need not be: one such file ends the run.",
        (
            ("import multiprocessing\n", "import json\nimport multiprocessing\n"),
            (
                "submit(_read, self.waiting[0])",
                "submit(_read, json.dumps(self.waiting[0].to_json(), ensure_ascii=False).encode())",
            ),
            (
                "    return bundle.read(_reports.put)",
                "    return harvest.Bundle.from_json(json.loads(bundle)).read(_reports.put)",
            ),
        ),
    ),
    Bug(
        "engine",
        "types",
        "not-for-notebooks",
        "A source of a notebook is sent to workers that cannot have it.",
        (("if not work.importable:", "if work.importable is None:"),),
    ),
    Bug(
        "engine",
        "progress",
        "progress-twice",
        "What workers report is counted twice.",
        (
            (
                "                self.on_progress(progress)\n",
                "                self.on_progress(progress)\n                self.on_progress(progress)\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "progress",
        "progress-at-the-end",
        "Progress is passed on when all is done.",
        (
            (
                "            self._report()\n",
                "            if len(self.given) <= len(done):\n                self._report()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "progress",
        "progress-of-results",
        "Rows count when a result comes: a file that takes an hour shows nothing for an hour.",
        (
            (
                "    return bundle.read(_reports.put)",
                "    reports = []\n    result = bundle.read(reports.append)\n"
                "    for report in reports:\n        _reports.put(report)\n    return result",
            ),
        ),
    ),
    Bug(
        "engine",
        "progress",
        "somebody-looks",
        "Where nobody looks at progress, the first report ends the run.",
        (
            (
                "            if self.on_progress is not None:\n                self",
                "            self",
            ),
        ),
    ),
    Bug(
        "engine",
        "settings",
        "retries-are-three",
        "The setting 'retries' is accepted, and workers are replaced three times.",
        (("if lost > self.config.retries:", "if lost > 3:"),),
    ),
    Bug(
        "engine",
        "settings",
        "workers-must-be-given",
        "Without a number of workers it fails.",
        (("workers = self.workers or available_cores()", "workers = self.workers"),),
    ),
    Bug(
        "engine",
        "position",
        "prepared-again",
        "Bundles that are given out again are prepared again, out of order.",
        ((AGAIN, "again = [b.prepare() for b in (*pool.given.values(), *pool.waiting)]"),),
    ),
    Bug(
        "engine",
        "interruptions",
        "interrupt-is-an-error",
        "Ctrl-C ends the run as if it had failed, with another exit code.",
        (
            (
                "            interrupt.check()\n",
                "            if interrupt.requested():\n"
                '                raise harvest.HarvestError("interrupted")\n',
            ),
        ),
    ),
    Bug(
        "engine",
        "memory",
        "what-is-done-is-kept",
        "Bundles are kept when they are done: with a million partitions the memory is full.",
        (
            (
                "                del self.given[future]\n",
                "                KEPT.append(self.given.pop(future))\n",
            ),
            ("class _Pool:", "KEPT = []\n\n\nclass _Pool:"),
        ),
    ),
)
