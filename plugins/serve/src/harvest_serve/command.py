"""``harvest serve`` and ``harvest mcp``."""

from pathlib import Path
from typing import Annotated

from harvest.toolkit.completion import argument, option

Datasets = Annotated[
    list[Path], argument("DATASET", "What a sink wrote, or the recipe. Repeatable.")
]
Port = Annotated[
    int, option("--port N", "Listen at this port; 0 means a free one.", min=0, max=65535)
]
Host = Annotated[
    str,
    option(
        "--host ADDRESS",
        "Listen at this address of the computer. With any but loopback, others can ask and "
        "need the token.",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    option(
        "--allow-host NAME",
        "Another name by which browsers may call the server, for example a proxy's. Repeatable.",
    ),
]
NoOpen = Annotated[bool, option("--no-open", "Open no browser.")]
TokenFile = Annotated[
    Path | None,
    option(
        "--token-file FILE",
        "Take the token from this file, which only you can read, instead of a new one.",
    ),
]
NoToken = Annotated[
    bool,
    option("--no-token", "Ask for no token, because a proxy guards the server. On loopback only."),
]
Set = Annotated[
    list[str] | None,
    option(
        "--set NAME.KEY=VALUE",
        "A setting of views and reports, which may be a file: ncem.study=study.toml. NAME is "
        "a view, a report, or how their names begin. Repeatable.",
    ),
]


def serve(
    datasets: Datasets,
    port: Port = 0,
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
    no_open: NoOpen = False,
    token_file: TokenFile = None,
    no_token: NoToken = False,
    settings: Set = None,
) -> int:
    """Serve datasets in the browser, and answer programs by HTTP; write nothing.

    Prints the address, which contains a token. Whoever has it can read the datasets. The server
    notices new commits. Ctrl-C ends it.

    Example: harvest serve out --port 8800 --no-open
    """
    from harvest_serve.server import serve_datasets
    from harvest_serve.settings import asked_for  # late, so that help starts quickly

    return serve_datasets(
        asked_for(datasets, settings),
        host=host,
        port=port,
        names=allow_host or (),
        browser=not no_open,
        token_file=token_file,
        needs_token=not no_token,
    )


def mcp(datasets: Datasets, settings: Set = None) -> int:
    """Answer the Model Context Protocol over standard input and output; write nothing.

    A client starts it, uses its tools (tables, rows, SQL, findings, reports), and ends it by
    closing its input. Needs the extra mcp.

    Example: harvest mcp out
    """
    from harvest_serve.mcp.transport import serve_mcp
    from harvest_serve.settings import asked_for  # late, so that help starts quickly

    return serve_mcp(asked_for(datasets, settings))
