"""The loop of a watch: check, wait, and make a round when it is due, until a reason to stop.

A round is an ordinary run of the inputs that may be read now. Sources that cannot list their input
are left out, so that the others continue. Partitions that are left out are still listed, and so
neither replaced nor dropped.
"""

import os
import sys
import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from harvest import HarvestError, Recipe, RunResult, Session, SourceError, UsageError, interrupt
from harvest.commands import print_json_line, remark
from harvest.commands.outcome import exports_failed
from harvest.errors import ExitCode
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable, printable_line

from .changes import Listening
from .entry import refuse_streams
from .inputs import Inputs, Ours

PATIENCE_ROUNDS = 10
"""A file that keeps changing is read anyway after the time of this many rounds."""

_GRACE_S = 0.5
_NOTED = 1_000


@attrs.frozen(kw_only=True)
class WatchOptions:
    """Options of a watch.

    every_s: minimum seconds between rounds; seconds between checks without notifications.
    settle_s: seconds that a file must be unchanged before it is read.
    poll: check periodically, even if the file system can notify.
    look_every_s: seconds between checks of all files with notifications, as one may be lost.
    rounds: stop after this many rounds that committed something; None for no limit.
    until_idle_s: stop after this many seconds without changes; None for no limit.
    wait_s: maximum seconds that a round waits for another run on a dataset.
    """

    every_s: float = 30.0
    settle_s: float = 2.0
    poll: bool = False
    look_every_s: float = 600.0
    rounds: int | None = None
    until_idle_s: float | None = None
    wait_s: float = 0.0


class Lines:
    """Prints a line for each round that committed something; remarks go to standard error."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.sums = Counter(part=0, row=0, reject=0)

    def committed(self, result: RunResult) -> None:
        """Report that a round committed something."""
        now = datetime.now().astimezone()
        account = result.account
        counts = {"part": len(result.parts), "row": account.written, "reject": account.rejected}
        self.sums.update(counts)
        if self.json:
            print_json_line({"time": now.isoformat(), **result.document()})
        else:
            dropped = f", {len(result.dropped)} dropped" if result.dropped else ""
            print(f"{now:%Y-%m-%d %H:%M:%S}  {_in_words(counts)}{dropped}")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Report a remark; each is made once."""
        remark(text)

    def stopped(self, rounds: int) -> None:
        """Report a normal end; rounds: number of rounds that committed something."""
        done = count_in_words(rounds, "round")
        self.note(f"stopped after {done}: {_in_words(self.sums)}")


def _in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(count_in_words(number, word) for word, number in counts.items())


def watch(recipe: Recipe, options: WatchOptions, reporter: Lines | None = None) -> ExitCode:
    """Harvest now, and again whenever inputs have changed, until asked to stop.

    A signal (see ``harvest.interrupt``) between rounds ends the watch after a last round; a signal
    during a round interrupts the round.

    Returns 0; 3 if a round committed rejects; 5 if an export of the last round failed; or the code
    of the error that ended the last round. Raises UsageError for errors that a retry cannot fix,
    KeyboardInterrupt if a round was interrupted.
    """
    for option in ("limit", "changed"):
        if getattr(recipe, option) is not None:
            raise UsageError(
                f"{option!r} makes no sense here", remedy="leave it out: a watch reads all there is"
            )
    if recipe.since_last:
        raise UsageError(
            f"since {recipe.since!r} makes no sense here", remedy="write a number of days, as 7d"
        )
    recipe.refuse_pipes("a watch")
    session = Session(recipe)
    places = (str(Path(e.location).expanduser().absolute()) for e in recipe.sources)
    roots = list(dict.fromkeys(places))
    refuse_streams(session, "a watch")
    for sink in session.sinks:
        place = str(Path(sink.location).expanduser().absolute())
        if place in roots:
            raise UsageError(
                "the sink is the very directory that is watched",
                where=place,
                remedy="write to a directory within it or next to it",
            )
    ours = Ours(session.sinks, roots)
    inputs = Inputs(roots, ours, settle_s=options.settle_s, enters=session.enters)
    watching = _Watch(recipe, options, inputs, reporter or Lines())
    for choice in session.choices:
        watching.note(choice)
    with interrupt.orderly():
        try:
            return watching.go_on()
        finally:
            with interrupt.deferred():
                watching.listening.close()


@attrs.define(eq=False)
class _Watch:
    """The state of a watch between its rounds.

    trouble: kind and place of the error that ended the last round.
    again: whether a round is due though no file has changed.
    whole: whether the next round lists all; later ones list what is pending.
    runs: of each dataset, after the last round.
    noted: the latest remarks, so that memory stays the same.
    """

    recipe: Recipe
    options: WatchOptions
    inputs: Inputs
    reporter: Lines
    listening: Listening = attrs.field(init=False)
    rounds: int = 0
    rejects: bool = False
    failed: ExitCode | None = None
    trouble: tuple[type, str | None] | None = None
    failures: dict[str, str] = attrs.field(factory=dict)
    unexported: set[str] = attrs.field(factory=set)
    again: bool = True
    whole: bool = True
    runs: Sequence[tuple[str, ...]] = ()
    looked: float = -float("inf")
    last_round: float = -float("inf")
    last_change: float = -float("inf")
    noted: OrderedDict[str, None] = attrs.field(factory=OrderedDict)

    def __attrs_post_init__(self) -> None:
        every_s, look_every_s = self.options.every_s, self.options.look_every_s
        instead = "as asked" if self.options.poll else None
        self.listening = Listening(self.inputs, self.note, every_s, look_every_s, instead)

    @property
    def patience_s(self) -> float:
        """Seconds of changes after which a file is read anyway."""
        return PATIENCE_ROUNDS * max(self.options.every_s, self.options.settle_s)

    def go_on(self) -> ExitCode:
        """Make rounds until the watch ends; return the exit code."""
        while True:
            with interrupt.deferred():
                last = self._wait()
                pending = any(True for _ in self.inputs.pending())
            if last:
                interrupt.forget()
                if pending or self.failed is not None:
                    self._round(patience_s=0.0)
                break
            wanted = self.options.rounds
            leaves_nothing = wanted is not None and self.rounds + 1 >= wanted
            self._round(patience_s=0.0 if leaves_nothing else self.patience_s)
            if wanted is not None and self.rounds >= wanted:
                break
        self.reporter.stopped(self.rounds)
        if self.failed is not None:
            return self.failed
        return ExitCode.REJECTS if self.rejects else ExitCode.DONE

    def _wait(self) -> bool:
        """Check and wait until a round is due; return True if it is the watch's last one."""
        while True:
            self.listening.begin()
            now = time.monotonic()
            ends = interrupt.requested() or self._is_idle(now)
            if self._look(now, at_all=ends):
                self.last_change = now
            if interrupt.requested():
                return True
            ready = -float("inf") if self.again else self.inputs.due_at(self.patience_s)
            due = None if ready is None else max(ready, self.last_round + self.options.every_s)
            if due is not None and due <= now:
                return False
            if self._is_idle(now):
                return True
            wake = now + self.listening.interval_s if due is None else due
            if self.options.until_idle_s is not None:
                wake = min(wake, self.last_change + self.options.until_idle_s)
            if self.listening.wait(wake - now):
                # pending files are checked when they are due, whatever else changes until then
                more_s = _GRACE_S if due is None else wake - time.monotonic()
                self.listening.wait(more_s, quietly=True)

    def _is_idle(self, now: float) -> bool:
        """Return whether the watch ends because nothing has changed for long enough."""
        idle_s = self.options.until_idle_s
        return idle_s is not None and self.last_change + idle_s <= now

    def _look(self, now: float, *, at_all: bool) -> bool:
        """Check the notified inputs, or all; return whether any changed."""
        heard = self.listening.heard()
        at_all = at_all or now >= self.looked + self.options.look_every_s
        if heard is not None and not at_all:
            return self.inputs.look_at(heard)
        self.looked = now
        return self.inputs.look()

    def _round(self, *, patience_s: float) -> None:
        self.last_round = time.monotonic()
        try:
            session = self._session()
            before = session.runs()
            # a location without a name may get files of another source
            named = all(e.name or e.plugin or e.made for e in self.recipe.sources)
            whole = self.whole or not named or before != self.runs
            wait_s = self.options.wait_s
            listing, result = make_round(
                session, self.inputs, whole=whole, patience_s=patience_s, wait_s=wait_s
            )
        except UsageError:
            raise
        except (HarvestError, OSError) as error:
            if interrupt.requested():  # the signal reached the workers too
                interrupt.check()
            self.again = True
            self.failed = error.exit_code if isinstance(error, HarvestError) else ExitCode.FAILED
            trouble = (type(error), getattr(error, "where", None))
            if trouble != self.trouble:
                self.reporter.note(f"{error_text(error)}; it is tried again")
            self.trouble = trouble
            return
        self.trouble = None
        self._after(listing, result)
        # if other runs also wrote, the content may differ from what rounds read: the next lists all
        own = () if result is None or result.run is None else (result.run,)
        now = session.runs()
        alone = all(b in (a, a + own) for a, b in zip(before, now, strict=True))
        self.runs = now if alone else ()

    def _session(self) -> Session:
        """Create a session with the sources that match the current inputs."""
        try:
            session = Session(self.recipe)
        except UsageError as error:  # when the watch began, it could be decided
            raise SourceError(error.message, where=error.where, remedy=error.remedy) from error
        for choice in session.choices:
            self.note(choice)
        return session

    def _after(self, listing: Any, result: RunResult | None) -> None:
        self._after_failures(listing.failures)
        # the changes of an input without files are not seen
        self.again = bool(listing.failures) or any(not p.inputs for p in listing.partitions)
        for text in listing.remarks:
            self.note(text)
        for origin in sorted(
            {p.origin for p in listing.partitions if is_own(p.inputs, self.inputs)}
        ):
            self.note(f"{origin}: written by this watch, and not read")
        if result is None:
            return
        self.rejects = self.rejects or bool(result.account.rejected)
        if result.run is not None:
            self.rounds += 1
            self.last_change = time.monotonic()
            self.reporter.committed(result)
        for part in result.parts:
            if part.failed:
                self.note(f"{part.origin}: it cannot be read, and is kept as a reject")
        for note in result.notes:
            self.note(note)
        self._after_exports(result)

    def _after_failures(self, listed: Sequence[tuple[Any, Exception]]) -> None:
        """Report sources that cannot list their input, or can do it again."""
        failures = {
            f"{source.name}:{printable(source.redact(source.location))}": error_text(error)
            for source, error in listed
        }
        for source, why in failures.items():
            if self.failures.get(source) != why:
                self.reporter.note(f"{why}; it is tried again")
        for source in self.failures.keys() - failures.keys():
            self.reporter.note(f"{source}: it can be read again")
        self.failures = failures
        self.whole = bool(failures)
        self.failed = ExitCode.FAILED if failures else None

    def _after_exports(self, result: RunResult) -> None:
        """Report exports that fail or work again; a failed export is retried."""
        failed = {text for text, why in result.exports.items() if why is not None}
        if failed != self.unexported:
            for note in exports_failed(result) or ["the exports are up to date again"]:
                self.reporter.note(note)
        self.unexported = failed
        if failed:
            self.failed = self.failed or ExitCode.EXPORT
            self.again = self.whole = True  # a round without inputs would export nothing

    def note(self, text: str) -> None:
        """Report a text, unless it was already reported."""
        if text in self.noted:
            self.noted.move_to_end(text)
            return
        self.noted[text] = None
        if len(self.noted) > _NOTED:
            self.noted.popitem(last=False)
        self.reporter.note(text)


def make_round(
    session: Session, inputs: Inputs, *, whole: bool, patience_s: float, wait_s: float
) -> tuple[Any, RunResult | None]:
    """Plan, read and commit files at rest; on HarvestError (as of a run), none counts as read.

    whole: list all inputs; else only pending ones, if files can identify them.
    patience_s: maximum seconds that a changing file may delay its partition.
    Returns what the session listed, and the result of the run; None if there was nothing to run.
    """
    # None to list all inputs, for example to find the removed ones, which are dropped
    gone = session.recipe.deleted == "drop" and inputs.are_gone()
    pending = None if whole or gone else inputs.to_read()
    listing = session.list(pending, go_on=True)
    partitions = listing.partitions
    named = (path for partition in partitions for path in partition.inputs)
    left = inputs.leave(named, patience_s, whole=pending is None)
    unready = {*left, *_directories(left)}
    result = None
    if partitions:
        result = session.commit(
            listing,
            ready=lambda p: unready.isdisjoint(p.inputs) and not is_own(p.inputs, inputs),
            wait_s=wait_s,
        )
    inputs.take(left)
    if result is not None:
        inputs.read_again(result.inputs(changed=True))
        inputs.read_too(result.inputs(failed=True), instead_of=result.inputs(planned=True))
    return listing, result


def error_text(error: Exception) -> str:
    """Return an error's text for people, also for a system error."""
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        return printable_line(f"{error.filename}: {text}" if error.filename else text)
    return str(error)


def _directories(paths: Iterable[str]) -> set[str]:
    """Return all directories that contain one of these files, at any level."""
    found: set[str] = set()
    for path in paths:
        above = os.path.dirname(path)  # noqa: PTH120
        while above not in found:
            found.add(above)
            above = os.path.dirname(above)  # noqa: PTH120
    return found


def is_own(files: Collection[str], inputs: Inputs) -> bool:
    """Return whether a partition's files are output of this watch, which a source lists."""
    return bool(files) and all(path in inputs.ours for path in files)
