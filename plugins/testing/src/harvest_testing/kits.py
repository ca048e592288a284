"""What kits are made of, those for other kinds of plugins too: promises, processes, datasets."""

from .datasets import ODD, AlteredDataset
from .declarations import class_problems
from .lab.files import files_below
from .lab.globals import at_home_in, changes, child_processes, elsewhere, open_files, snapshot
from .lab.names import odd_names
from .lab.process import done_in_process, forked, in_process, killed, peak_memory
from .lab.steps import Switch
from .promise import Conformance, broken, does_not_apply, promise, raises_nothing, require
from .recount import copies
from .source.reading import difference
from .source.runs import ArrowSink

__all__ = ["ODD", "AlteredDataset", "ArrowSink", "Conformance", "Switch", "at_home_in", "broken",
           "changes", "child_processes", "class_problems", "copies", "difference", "does_not_apply",
           "done_in_process", "elsewhere", "files_below", "forked", "in_process", "killed",
           "odd_names", "open_files", "peak_memory", "promise", "raises_nothing", "require",
           "snapshot"]  # fmt: skip
