"""The two commands of this plugin."""

from harvest import Command, declare

harvest_commands = declare(
    Command(
        name="serve",
        doc="Serve datasets in the browser, and answer programs by HTTP; write nothing.",
        app="harvest_serve.command:serve",
        after="query",
        recipe_keys=("set",),
    ),
    Command(
        name="mcp",
        doc="Answer the Model Context Protocol over standard input and output; write nothing.",
        app="harvest_serve.command:mcp",
        after="serve",
    ),
)
