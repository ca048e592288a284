"""Pages of the documentation whose code blocks are run, so that what they show is true.

A page's blocks are run in order, in one directory that is fresh for the page and holds links
``examples`` and ``benchmarks`` to the repository's.  The language after the fence says what a
block is:

``console``
    Lines that begin with ``$ `` are commands, run by bash one after another; ``harvest`` and
    ``python`` are those of this interpreter.  A line that ends in a backslash or within quotes
    goes on in the next.
    Lines below a command are its output: each must be a line of what was printed, in that order,
    and ``...`` stands for lines left out.  A command must succeed, unless ``<!-- exit: 3 -->``
    before the block says how its last one ends.
``python``
    Executed, all blocks of a page in one namespace.  A ``text`` block right after it that is
    preceded by ``<!-- output -->`` holds what was printed, compared like a command's output.
``toml``, ``yaml``, ``json``, ``ini``
    Parsed.
``sh``, or ``console`` with output
    What cannot be run here, and ``<!-- not run: REASON -->`` says why.  bash parses ``sh``.
``text``, ``http``
    Anything: shown files, diagrams.

``<!-- file: NAME -->`` before a block of any language writes it to a file for later blocks, instead
of running it.  ``<!-- uses: PAGE NAME -->`` anywhere writes that file as another page shows it.
``<!-- needs: slurm -->`` before a block skips it where the thing is absent (see ``NEEDS``).

Check pages by hand with ``python tests/support/pages.py docs/tutorials/darshan.md ...``.
"""

from __future__ import annotations

import configparser
import functools
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import yaml

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 3_000

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")
_COMMENT = re.compile(r"^ *<!-- *(?P<word>[a-z ]+?) *(?:: *(?P<value>.*?))? *--> *$")
_WORDS = frozenset(("exit", "file", "needs", "not run", "output", "uses"))
_DATA = frozenset(("toml", "yaml", "json", "ini"))
_CONTAINER = re.compile(r"^(?: *(?:[-*+]|\d+[.)]) |!!!|\?\?\?|===)")
_NOT_OURS = ("HARVEST_", "FORCE_COLOR", "NO_COLOR", "PYTHONDONTWRITEBYTECODE")
"""Beginnings of variables that a reader has not set; without compiled modules pages take long."""


class PageError(Exception):
    """A page is not as the convention wants it, or does not show the truth."""


@dataclass
class Block:
    """One fenced block: where it begins, its language, its text and the comments before it."""

    line: int
    language: str
    text: str
    comments: dict[str, str] = field(default_factory=dict)


@dataclass
class Outcome:
    """What checking a page came to: blocks that were run or parsed, commands, what was skipped."""

    checked: int = 0
    commands: int = 0
    skipped: list[str] = field(default_factory=list)


# ---- what a page holds


def blocks_of(text: str) -> list[Block]:
    """All fenced blocks of a page; an indented block, which says no language, is an error."""
    blocks: list[Block] = []
    comments: dict[str, str] = {}
    inside: tuple[int, str, str, str] | None = None  # line, indent, ticks, language
    body: list[str] = []
    outer, blank = "", True
    for number, line in enumerate(text.splitlines(), start=1):
        if inside is not None:
            begun, indent, ticks, language = inside
            if line.strip().startswith(ticks) and not line.strip().strip(ticks[0]):
                blocks.append(Block(begun, language, "\n".join([*body, ""]), comments))
                inside, comments, body = None, {}, []
            else:
                body.append(line.removeprefix(indent))
        elif fence := _FENCE.match(line):
            info = fence["info"].split()
            if not info:
                raise PageError(f"line {number}: the block says no language")
            inside = (number, fence["indent"], fence["ticks"], info[0])
        elif comment := _COMMENT.match(line):
            if comment["word"] in _WORDS:
                comments[comment["word"]] = comment["value"] or ""
        elif line.strip():
            comments.pop("uses", None)
            if comments:
                raise PageError(f"line {number}: no block follows {sorted(comments)}")
            if blank and line.startswith("    ") and not _CONTAINER.match(outer):
                raise PageError(f"line {number}: an indented block says no language; use a fence")
        if line.strip() and not line.startswith(" "):
            outer = line
        blank = not line.strip()
    if inside is not None:
        raise PageError(f"line {inside[0]}: the block has no end")
    if comments.keys() - {"uses"}:
        raise PageError(f"at the end: no block follows {sorted(comments)}")
    return blocks


def _uses(text: str) -> list[tuple[str, str]]:
    found = (_COMMENT.match(line) for line in text.splitlines())
    return [tuple(c["value"].split()) for c in found if c and c["word"] == "uses"]


# ---- links and pictures


@functools.cache
def _slugs(text: str) -> set[str]:
    """Anchors of a page's headings, as Python-Markdown's toc makes them."""
    found: set[str] = set(re.findall(r"\{ *#([\w-]+) *\}", text))
    prose = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        words = re.sub(r"[^\w\s-]", "", plain.encode("ascii", "ignore").decode()).strip().lower()
        slug = once = re.sub(r"[-\s]+", "-", words)
        again = 0
        while slug in found:
            again += 1
            slug = f"{once}_{again}"
        found.add(slug)
    return found


def broken_links(page: Path) -> list[str]:
    """What is wrong with a page's relative links, anchors and pictures."""
    text = page.read_text("utf-8")
    prose = re.sub(r"^ *(`{3,}).*?^ *\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"`[^`\n]+`(?!\])", "", prose)
    wrong = []
    for picture, alt, link in re.findall(r"(!?)\[([^][]*)\]\(([^)\s]+)[^)]*\)", prose):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        path = page.parent / target if target else page
        if not path.exists():
            wrong.append(f"{link} leads nowhere")
        elif anchor and anchor not in _slugs(path.read_text("utf-8")):
            wrong.append(f"{link}: no such heading")
        elif picture and len(alt) <= 20:
            wrong.append(f"{link}: say in more than {alt!r} what the picture shows")
        elif picture and path.stat().st_size >= 250_000:
            wrong.append(f"{link}: a picture of {path.stat().st_size} bytes")
    return wrong


# ---- what a block may need


def _has_slurm() -> bool:
    return bool(shutil.which("sinfo")) and not subprocess.run(
        ["sinfo", "--version"], capture_output=True, check=False
    ).returncode and bool(os.environ.get("SLURM_CONF"))  # fmt: skip


NEEDS = {
    "slurm": (_has_slurm, "SLURM_CONF names no cluster"),
    "chromium": (lambda: bool(shutil.which("chromium")), "chromium is not installed"),
    "tex": (lambda: bool(shutil.which("pdflatex")), "pdflatex is not installed"),
    "postgresql": (lambda: bool(shutil.which("initdb")), "PostgreSQL is not installed"),
    "pandas": (lambda: importlib.util.find_spec("pandas") is not None, "pandas is not installed"),
    "deltalake": (
        lambda: importlib.util.find_spec("deltalake") is not None,
        "deltalake is not installed",
    ),
    "uv": (lambda: bool(shutil.which("uv")), "uv is not installed"),
    "shared": (lambda: (ROOT.parent / "shared" / "data").is_dir(), "no real samples here"),
}


def _missing(block: Block) -> str:
    for need in block.comments.get("needs", "").replace(",", " ").split():
        if need not in NEEDS:
            raise PageError(f"line {block.line}: needs {need!r}, which is none of {sorted(NEEDS)}")
        there, reason = NEEDS[need]
        if not there():
            return f"line {block.line}: {reason}"
    return ""


# ---- running a page


def check_page(
    page: Path, directory: Path, variables: Mapping[str, str] = MappingProxyType({})
) -> Outcome:
    """Run or parse every block of ``page`` in ``directory``; PageError names the first wrong.

    variables: of the environment of its commands, beside or instead of the usual ones.
    """
    text = page.read_text("utf-8")
    blocks = blocks_of(text)
    outcome = Outcome()
    if not blocks:
        return outcome
    directory.mkdir(parents=True, exist_ok=True)
    for folder in ("examples", "benchmarks"):
        (directory / folder).symlink_to(ROOT / folder)
    for where, name in _uses(text):
        shown = blocks_of((page.parent / where).read_text("utf-8"))
        (directory / name).write_text(
            next(b.text for b in shown if b.comments.get("file") == name), "utf-8"
        )
    python = _Python(directory)
    printed = reason = ""
    try:
        for block in blocks:
            try:
                # what a block prints is missing where that is
                reason = _missing(block) or (reason if "output" in block.comments else "")
                if reason:
                    outcome.skipped.append(reason)
                    continue
                if block.language == "console" and not {"file", "not run"} & {*block.comments}:
                    outcome.commands += _run_commands(block, directory, variables)
                    printed = ""
                else:
                    printed = _check(block, directory, python, printed)
            except PageError as e:
                raise PageError(f"{page.name}, block at line {block.line}: {e}") from None
            outcome.checked += 1
    finally:
        python.end()
    return outcome


def _check(block: Block, directory: Path, python: _Python, before: str) -> str:
    """Check one block; returns what it printed, for an output block after it."""
    if name := block.comments.get("file"):
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, "utf-8")
        if block.language in _DATA:
            _parse(block)
    elif block.language == "python":
        return python.run(block)
    elif block.language in _DATA:
        _parse(block)
    elif block.language == "sh":
        if not block.comments.get("not run"):
            raise PageError("a block that is not run needs <!-- not run: REASON --> before it")
        done = _bash(["-n"], directory, block.text)
        if done.returncode:
            raise PageError(f"bash cannot read it: {done.stdout}")
    elif block.language in ("text", "http", "console"):
        if "output" in block.comments:
            _compare(block.text.splitlines(), before, "the Python block before")
    else:
        raise PageError(f"the language {block.language!r} is not one that is checked")
    return ""


def _parse(block: Block) -> None:
    try:
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "yaml":
            yaml.safe_load(block.text)
        else:
            parser = configparser.ConfigParser(strict=False, interpolation=None)
            parser.read_file(io.StringIO(block.text))
    except (ValueError, yaml.YAMLError, configparser.Error) as e:
        raise PageError(f"no {block.language}: {e}") from None


def _run_commands(block: Block, directory: Path, variables: Mapping[str, str]) -> int:
    """Run a block's commands one after the other; gives how many they are."""
    steps = _steps(block)
    for number, (command, shown) in enumerate(steps, start=1):
        wanted = int(block.comments.get("exit", "0")) if number == len(steps) else 0
        done = _bash(["-euo", "pipefail", "-c", command], directory, variables=variables)
        if done.returncode != wanted:
            raise PageError(
                f"$ {command}\nended with {done.returncode}, not {wanted}:\n{done.stdout}"
            )
        _compare(shown, done.stdout, f"$ {command}")
    return len(steps)


def _steps(block: Block) -> list[tuple[str, list[str]]]:
    steps: list[tuple[str, list[str]]] = []
    goes_on = False
    for line in block.text.splitlines():
        if goes_on:
            command = f"{steps[-1][0]}\n{line.removeprefix('> ')}"
            steps[-1] = (command, [])
        elif line.startswith("$ "):
            command = line[2:]
            steps.append((command, []))
        elif not steps:
            raise PageError("a console block begins with a command: $ ...")
        else:
            steps[-1][1].append(line)
            continue
        goes_on = _unfinished(command)
    if not steps:
        raise PageError("a console block without a command")
    return steps


def _unfinished(command: str) -> bool:
    """Whether it ends in a backslash or within quotes."""
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


def _compare(shown: list[str], printed: str, what: str) -> None:
    """Every shown line is one of the printed, in the same order."""
    lines = [line.rstrip() for line in printed.splitlines()]
    rest = iter(lines)
    for line in (s.rstrip() for s in shown):
        if line and line != "..." and line not in rest:
            where = "not in this order" if line in lines else "not printed"
            raise PageError(f"{what}\n{where}: {line!r}\nprinted was:\n{printed}")


def _environment(directory: Path) -> dict[str, str]:
    """What blocks see: programs of this interpreter first, 80 columns, nothing of ours."""
    wrappers = directory.parent / f"{directory.name}.bin"
    if not wrappers.is_dir():
        wrappers.mkdir()
        for name, words in {"python": [], "harvest": ["-m", "harvest"]}.items():
            program = shlex.join([sys.executable, *words])
            (wrappers / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            (wrappers / name).chmod(0o755)
    env = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_OURS)}
    path = os.pathsep.join((str(wrappers), env.get("PATH", os.defpath)))
    return {**env, "COLUMNS": "80", "PATH": path, "PYTHONUNBUFFERED": "1", "TZ": "UTC"}


def _bash(
    arguments: list[str],
    directory: Path,
    given: str = "",
    variables: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", *arguments],
        cwd=directory, env=_environment(directory) | variables, input=given,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=SECONDS, check=False,
    )  # fmt: skip


class _Python:
    """The process that executes a page's Python blocks, started for the first of them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.process: subprocess.Popen[str] | None = None

    def run(self, block: Block) -> str:
        """What the block printed; PageError with the traceback when it raised."""
        if self.process is None:
            env = _environment(self.directory)
            env["PYTHONPATH"] = os.pathsep.join((str(self.directory), env.get("PYTHONPATH", "")))
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("page_python.py"))],
                cwd=self.directory, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True,
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"code": block.text, "line": block.line}) + "\n")
        self.process.stdin.flush()
        patience = threading.Timer(SECONDS, self.process.kill)
        patience.start()
        answer = self.process.stdout.readline()
        patience.cancel()
        if not answer:
            raise PageError("the Python process died, or took too long")
        told: dict[str, str] = json.loads(answer)
        if told["error"]:
            raise PageError(told["printed"] + told["error"])
        return told["printed"]

    def end(self) -> None:
        """Stop the process, if one was started."""
        if self.process is not None:
            self.process.communicate(timeout=SECONDS)


if __name__ == "__main__":
    failed = False
    for given in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as scratch:
            links = broken_links(Path(given))
            try:
                done = check_page(Path(given), Path(scratch) / "page")
                told = f"{done.checked} blocks"
                links += [f"(skipped) {reason}" for reason in done.skipped]
            except PageError as e:
                failed, told = True, f"WRONG: {e}"
            failed |= any(not w.startswith("(skipped)") for w in links)
            print(f"{given}: {told}", *links, sep="\n  ")
    sys.exit(failed)
