"""The tree of commands.

Each command lives in a module of its own and is imported when it is called or when its help is
printed; plugins' groups of commands are listed from their declarations alone.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["app"]


class HarvestGroup(TyperGroup):
    """The top level: our commands, then the groups that plugins declare."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order in which help shows them."""
        from harvest.plugins.registry import manager

        own = super().list_commands(ctx)
        return [*own, *(name for name in manager().commands if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command; for a plugin's group only a stand-in that carries its line of help."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        from harvest.plugins.registry import manager

        spec = manager().commands.get(cmd_name)
        return None if spec is None else TyperCommand(name=cmd_name, help=spec.doc)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to be called: here a plugin's group is imported."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and super().get_command(ctx, name) is None:
            from harvest.plugins.registry import manager

            plugin_app = manager().load_app(name)
            command = plugin_app
            if isinstance(plugin_app, typer.Typer):
                command = typer.main.get_group(plugin_app)
            command.name = name
        return name, command, rest


app = typer.Typer(
    name="harvest",
    cls=HarvestGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: importing rich would triple its time
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Collect the metadata that scientific runs leave behind, as one model.",
    epilog="Example: harvest run --source mofka-dask:runs/R1 --sink parquet:out",
)


def _version(value: bool) -> None:
    if value:
        import harvest

        print(f"harvest {harvest.__version__}")
        raise typer.Exit


@app.callback()
def harvest(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of errors. Works anywhere.")
    ] = False,
) -> None:
    """Collect the metadata that scientific runs leave behind, as one model."""


def _add_commands() -> None:
    from .commands import plugins, query, report, run, schedule, schema, view, watch
    from .commands import preview as inspect
    from .commands import runs as history
    from .commands import verify as dataset

    app.command("run")(run.run)
    app.command("watch")(watch.watch)
    app.command("schedule")(schedule.schedule)
    app.command("detect")(inspect.detect)
    app.command("preview")(inspect.preview)
    app.add_typer(plugins.app, name="plugins")
    app.command("schema")(schema.schema)
    app.command("view")(view.view)
    app.command("report")(report.report)
    app.command("query")(query.query)
    app.command("runs")(history.runs)
    app.command("rollback")(history.rollback)
    app.command("verify")(dataset.verify)
    app.command("rejects")(dataset.rejects)


_add_commands()
