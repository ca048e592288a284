"""A watch of the inputs of a small dataset, in this process, while something happens to them."""

import threading

from datasets import SETTINGS

from harvest.recipes.recipe import Endpoint, Recipe
from harvest_watch.inputs import Inputs, Ours
from harvest_watch.loop import Lines, WatchOptions, watch

QUICK = {"every_s": 0.1, "settle_s": 0.0, "until_idle_s": 1.0}
UNTIL = {"until_idle_s": 15.0}  # with a number of rounds: only if these do not come


class Told(Lines):
    """What a watch told; after each round that committed, and at each remark, something happens.

    It happens a moment later, when the watch has nothing else to do.
    """

    def __init__(self, *steps, on_note=lambda text: None):
        super().__init__()
        self.steps = list(steps)
        self.on_note = on_note
        self.results, self.notes, self.timers = [], [], []

    def committed(self, result):
        self.results.append(result)
        if self.steps:
            self.later(self.steps.pop(0))

    def note(self, text):
        self.notes.append(text)
        self.on_note(text)

    def stopped(self, rounds):
        pass

    def later(self, step, seconds=0.3):
        timer = threading.Timer(seconds, step)
        self.timers.append(timer)
        timer.start()

    def about(self, words):
        return [note for note in self.notes if words in note]


def keep_watching(small, told=None, *, sink=None, recipe=None, **options):
    """Watch the inputs of ``small`` in this process, until nothing has happened for a while."""
    name, _, location = (sink or small.sink).partition(":")
    whole = Recipe(
        sources=(Endpoint("slurm", str(small.inputs)),),
        sinks=(Endpoint(name, location),),
        settings=SETTINGS,
        workers=1,
        **(recipe or {}),
    )
    told = told or Told()
    try:
        return watch(whole, WatchOptions(**{**QUICK, **options}), told)
    finally:
        for timer in told.timers:
            timer.join()


def put(small, name, text):
    """A file that is there at once, or takes the place of another."""
    (small.folder / name).write_text(text)
    (small.folder / name).rename(small.inputs / f"{name}.txt")


def inputs_of(folder, settle_s=2.0):
    return Inputs([str(folder)], Ours([], [str(folder)]), settle_s=settle_s)
