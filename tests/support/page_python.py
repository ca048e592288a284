"""Executes Python blocks, given as JSON lines, in one namespace; answers what each printed.

Given words instead, it calls ``harvest WORDS...``, and answers the exit code, too.
"""

import contextlib
import io
import json
import os
import sys
import traceback
import types


def called(words: list[str]) -> dict[str, str | int]:
    """What a command prints and how it ends, called without plugins of earlier commands."""
    from commands import harvest_here  # late: a page without commands does without

    from harvest.plugins.registered import loaded

    loaded.clear()
    done = harvest_here(*words)
    return {"printed": done.stdout + done.stderr, "code": done.returncode, "error": ""}


def serve() -> None:
    """One answer per line of standard input, on what was standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what children print must not mix with the answers
    page = types.ModuleType("page")
    sys.modules["page"] = page  # classes that blocks define look their module up
    for line in sys.stdin:
        block = json.loads(line)
        if words := block.get("words"):
            answers.write(json.dumps(called(words)) + "\n")
            answers.flush()
            continue
        printed, error = io.StringIO(), ""
        with contextlib.redirect_stdout(printed):
            try:
                code = "\n" * block["line"] + block["code"]  # tracebacks tell lines of the page
                exec(compile(code, "page", "exec"), page.__dict__)
            except BaseException:
                error = traceback.format_exc()
        answers.write(json.dumps({"printed": printed.getvalue(), "error": error}) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
