"""``harvest verify``: check a dataset, and repair it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harvest.commands.asking import answer
from harvest.commands.tables import print_json, print_lines
from harvest.dataset import open as open_dataset
from harvest.dataset.repair import Repair, problem_of_manifest
from harvest.dataset.verify import Problem, problems_of
from harvest.toolkit.amounts import count_in_words

_FORGETS: Final = "forgets what is lost"


def print_problems(dataset: Path, *, json: bool) -> int:
    """Print the problems of a dataset; return exit code 1 if there are any."""
    damage = problem_of_manifest(dataset)
    problems, holder = ([Problem(damage)], None) if damage else answer(dataset, problems_of)
    texts = [problem.text for problem in problems]
    writer = None if holder is None else str(holder)
    if json:
        print_json({"dataset": str(dataset), "problems": texts, "writer": writer})
        return 1 if problems else 0
    if writer is not None:
        print(f"a run is writing to it: {writer}; its unfinished work is not checked")
    print_lines(texts)
    if problems:
        print(f"{count_in_words(len(problems), 'problem')}; harvest verify {_remedy(problems)}")
        return 1
    _print_all_well(dataset)
    return 0


def _remedy(problems: Sequence[Problem]) -> str:
    lost = any(problem.lost for problem in problems)
    if all(problem.lasting for problem in problems):
        return f"--repair --give-up {_FORGETS}" if lost else "--repair cannot fix this"
    more = f"; with --give-up it {_FORGETS}" if lost else ""
    return f"--repair fixes what it can{more}"


def print_repair(dataset: Path, done: Repair, *, dropped: bool, json: bool) -> int:
    """Print the result of a repair; return exit code 1 if a problem is left."""
    left = [problem.text for problem in done.left]
    if json:
        document = {
            "dataset": str(dataset),
            "found": done.found,
            "manifest_restored": done.restored,
            "read_again": [part.origin for part in done.result.parts] if done.result else [],
            "gone": [{"origin": origin, "reason": reason} for origin, reason in done.gone],
            "given_up": list(done.given_up),
            "problems": left,
        }
        print_json(document)
        return 1 if left else 0
    if not done.found:
        _print_all_well(dataset)
        return 0
    print("found")
    print_lines(f"  {problem}" for problem in done.found)
    if done.restored:
        print("the manifest was restored from its copy")
    if done.result is not None:
        count = count_in_words(len(done.result.parts), "partition")
        print(f"{count} read again, as run {done.result.run}")
    for origin, reason in done.gone:
        what = "its rows were dropped" if dropped else "--deleted drop removes its rows"
        print_lines([f"{origin} cannot be read again: {reason}; {what}"])
    print_lines(done.given_up)
    if left:
        lost = any(problem.lost for problem in done.left)
        more = f"; --give-up {_FORGETS}" if lost else ""
        print(f"{count_in_words(len(left), 'problem')} left{more}")
        print_lines(f"  {text}" for text in left)
        return 1
    _print_all_well(dataset)
    return 0


def _print_all_well(dataset: Path) -> None:
    opened = open_dataset(dataset)
    files = len({(file.path, file.offset) for file in opened.manifest.files.distinct()})
    rows = sum(opened.record_types.values())
    checked = f"{count_in_words(files, 'file')}, {count_in_words(rows, 'row')}"
    print(f"no problems: {checked} checked")
