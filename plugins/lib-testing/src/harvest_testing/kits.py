"""What kits are made of, those for other kinds of plugins too: promises, processes, datasets."""

from .datasets import ODD, AlteredDataset
from .lab.globals import at_home_in, changes, child_processes, elsewhere, open_files, snapshot
from .lab.process import done_in_process, in_process, peak_memory
from .promise import Conformance, broken, does_not_apply, promise, raises_nothing, require
from .recount import copies
from .sink.kit import files_below
from .sink.steps import Switch
from .source.runs import ArrowSink

__all__ = ["ODD", "AlteredDataset", "ArrowSink", "Conformance", "Switch", "at_home_in", "broken",
           "changes", "child_processes", "copies", "does_not_apply", "done_in_process", "elsewhere",
           "files_below", "in_process", "open_files", "peak_memory", "promise", "raises_nothing",
           "require", "snapshot"]  # fmt: skip
