"""Executes Python blocks, given as JSON lines, in one namespace; answers what each printed."""

import contextlib
import io
import json
import os
import sys
import traceback
import types


def serve() -> None:
    """One answer per line of standard input, on what was standard output."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what children print must not mix with the answers
    page = types.ModuleType("page")
    sys.modules["page"] = page  # classes that blocks define look their module up
    for line in sys.stdin:
        block = json.loads(line)
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
