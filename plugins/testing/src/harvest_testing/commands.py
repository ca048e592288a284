"""``harvest plugins check`` and ``harvest plugins new``."""

from pathlib import Path
from typing import Annotated

from harvest import UsageError
from harvest.toolkit.completion import argument, option, words


def check(
    names: Annotated[
        list[str] | None, argument("NAME", "Plugins or FILE.py; without, all installed ones.")
    ] = None,
    sample: Annotated[
        Path | None,
        option("--sample PATH", "Input that the plugin's sources can read, to try more."),
    ] = None,
    json: Annotated[bool, option("--json", "Print JSON.")] = False,
    thorough: Annotated[
        bool,
        option(
            "--thorough",
            "Try all of the kit, other processes too, and say what to declare for the rest.",
        ),
    ] = False,
) -> int:
    """Check a plugin's declarations, and try what it promises. Ends with 1 on a problem.

    It runs the quick tests of harvest_testing, the conformance kit for plugins' own tests. With
    --thorough, it runs all of them.
    """
    from .check import check_plugins  # imported here, so that help starts quickly

    return check_plugins(names or (), sample, json=json, thorough=thorough)


def new(
    name: Annotated[str, argument("NAME", "Of the plugin, such as my-format.")],
    kind: Annotated[
        list[str] | None,
        option(
            "--kind KIND",
            "source (the default), sink, view or report; several separated by commas, or "
            "the option repeated.",
            words("source", "sink", "view", "report"),
        ),
    ] = None,
    directory: Annotated[Path, option("-C --directory DIR", "Where to put the project.")] = Path(),
    columnar: Annotated[
        bool, option("--columnar", "A source that reads many lines at a time, for large inputs.")
    ] = False,
    url: Annotated[
        str, option("--url URL", "Where the project is at home, for its package page.")
    ] = "",
    add: Annotated[bool, option("--add", "Add kinds to the project that is there.")] = False,
) -> int:
    """Begin a plugin: a project that installs and passes its tests and checks as it is.

    It comes with sample data, harvest's conformance kit, and a pipeline that publishes a tag.
    """
    from .scaffold import add_kinds, scaffold  # imported here, so that help starts quickly

    kinds = [word.strip() for text in kind or ["source"] for word in text.split(",")]
    if add:
        if url:
            raise UsageError("--url is for a new project", remedy="write it into pyproject.toml")
        written = add_kinds(name, kinds, directory, columnar=columnar)
    else:
        written = scaffold(name, kinds, directory, columnar=columnar, url=url)
    for path in written:
        print(path)
    print(f"\nnext: pip install -e '{directory / f'harvest-{name}'}[dev]' && harvest plugins")
    return 0
