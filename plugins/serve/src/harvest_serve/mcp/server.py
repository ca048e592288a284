"""The tools of ``harvest mcp`` and ``/mcp``, which only read."""

import dataclasses
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Annotated, Any, Final, Literal

import orjson
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from harvest import HarvestError, UsageError
from harvest.commands import remark
from harvest.toolkit.texts import printable_line
from harvest_serve.problems import problem_of
from harvest_serve.questions import Filter, Question
from harvest_serve.state import Served, Snapshot
from harvest_serve.work import Turns, run_in_turn

from . import answers

INSTRUCTIONS: Final = (
    "Metadata of scientific computing: runs, files, jobs and instruments, harvested into tables. "
    "Begin with `findings` for what is wrong, or `tables` for what there is. A table is a record "
    "type (what was recorded) or a view (computed from it, with settings). Units stand with the "
    "columns. Null means unknown, never zero. Integers beyond 2^53 are text. Nothing can be "
    "changed here."
)

_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)

Dataset = Annotated[
    str | None, Field(description="The name of a dataset; needed where several are served.")
]
Settings = Annotated[
    dict[str, str | int | float | bool] | None,
    Field(description="Settings by name, as `table` lists them."),
]
TableName = Annotated[str, Field(description="A record type or view, such as gpfs.file.")]


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition on one column; text is compared as written, a time without a zone is UTC."""

    column: str
    operator: Literal[
        "eq", "ne", "lt", "le", "gt", "ge", "contains", "starts", "ends", "null", "notnull"
    ]
    value: str | int | float | bool | None = None


class SqlColumn(BaseModel):
    """A column of a query's result, with its type in Arrow."""

    name: str
    type: str


class SqlAnswer(BaseModel):
    """The structured answer of the tool ``sql``; its text is the same."""

    dataset: str
    commit: str
    columns: list[SqlColumn]
    rows_shown: int
    rows: list[dict[str, Any]] = Field(
        description="Each by the names of the columns; integers beyond 2^53 are text."
    )
    units_of_the_tables_that_it_reads: dict[str, dict[str, str]]
    not_shown: str | None = None


class Tools:
    """The tools over some datasets; each public method is one."""

    def __init__(self, served: Mapping[str, Served], turns: Turns) -> None:
        self._served = served
        self._turns = turns

    def datasets(self) -> str:
        """List the datasets that can be asked, by the name that the other tools take."""
        return _to_text(answers.datasets(self._served))

    async def tables(self, dataset: Dataset = None) -> str:
        """List a dataset's record types and views: what a row of each is, and how many."""
        return await self._ask(dataset, answers.table_list)

    async def table(
        self, table: TableName, dataset: Dataset = None, settings: Settings = None
    ) -> str:
        """Describe a table: its columns with types, units and meanings, and its settings."""
        return await self._ask(dataset, lambda of: answers.table(of, table, _texts(settings)))

    async def rows(
        self,
        table: TableName,
        dataset: Dataset = None,
        settings: Settings = None,
        where: Annotated[
            list[Condition] | None, Field(description="Conditions, all of which hold.")
        ] = None,
        condition: Annotated[
            str | None, Field(description="One more, in SQL: bytes > 1e9 OR user = 'ann'.")
        ] = None,
        sort: Annotated[
            list[str] | None,
            Field(description="Columns to sort by; a minus before one puts its largest first."),
        ] = None,
        columns: Annotated[
            list[str] | None, Field(description="Only these columns; all unless given.")
        ] = None,
        offset: Annotated[int, Field(ge=0, description="Rows to skip.")] = 0,
        limit: Annotated[
            int, Field(ge=0, description=f"Rows to show; {answers.MOST_ROWS} at most.")
        ] = 50,
    ) -> str:
        """Give rows of a record type or view, with how many match, and the columns' units."""
        question = Question(
            settings=_texts(settings),
            where=tuple(Filter(c.column, c.operator, _text(c.value)) for c in where or ()),
            sort=tuple((each.removeprefix("-"), each.startswith("-")) for each in sort or ()),
            offset=offset,
            limit=limit,
            columns=tuple(columns) if columns else None,
            condition=condition,
        )
        return await self._ask(
            dataset, lambda of: answers.rows(of, table, question), written=condition is not None
        )

    async def sql(
        self,
        query: Annotated[
            str,
            Field(
                description="One SELECT in DuckDB's SQL over record types and views as tables: "
                "SELECT user, sum(cpu_hours) FROM slurm.jobs GROUP BY user."
            ),
        ],
        dataset: Dataset = None,
        settings: Annotated[
            dict[str, dict[str, str | int | float | bool]] | None,
            Field(description="Settings of views, by the view's name."),
        ] = None,
    ) -> Annotated[CallToolResult, SqlAnswer]:
        """Ask one SQL query, which can only read a dataset's tables, within limits."""
        given = {name: _texts(each) for name, each in (settings or {}).items()}
        found = await self._ask(dataset, lambda of: answers.query(of, query, given), written=True)
        return CallToolResult(
            content=[TextContent(text=found)], structured_content=orjson.loads(found)
        )

    async def findings(self, dataset: Dataset = None) -> str:
        """List findings, the worst first: headline, detail, advice, certainty and evidence of each;
        and the checks that lack data, with reasons."""
        return await self._ask(dataset, answers.findings)

    async def reports(self, dataset: Dataset = None) -> str:
        """List the reports that a dataset can serve, with their settings."""
        return await self._ask(dataset, answers.report_list)

    async def report(
        self,
        report: Annotated[str, Field(description="The report's name, as `reports` lists it.")],
        dataset: Dataset = None,
        settings: Settings = None,
        section: Annotated[str | None, Field(description="Only this section, by name.")] = None,
    ) -> str:
        """Give a report as text."""
        given = _texts(settings)
        return await self._ask(dataset, lambda of: answers.report(of, report, given, section))

    async def _ask(
        self, dataset: str | None, ask: Callable[[Snapshot], Any], *, written: bool = False
    ) -> str:
        """Run a question in its turn; raises ToolError with message, where and remedy.

        written: whether it runs the client's own SQL.
        """
        try:
            served = self._choose(dataset)
            given = await run_in_turn(self._turns, lambda: served.ask(ask), written=written)
            return _to_text(given)
        except HarvestError as error:
            raise ToolError(str(error)) from error
        except Exception as error:
            said = printable_line(f"{type(error).__name__}: {error}")
            remark(f"mcp: {said}")
            raise ToolError(problem_of(error).message) from error

    def _choose(self, dataset: str | None) -> Served:
        if dataset is None and len(self._served) == 1:
            return next(iter(self._served.values()))
        if dataset is None or dataset not in self._served:
            problem = "name a dataset" if dataset is None else f"no dataset is named {dataset!r}"
            raise UsageError(problem, remedy=f"use one of {', '.join(self._served)}")
        return self._served[dataset]


def server(served: Mapping[str, Served], turns: Turns) -> MCPServer[Any]:
    """Build the protocol's server for some datasets; turns: limits questions at the same time."""
    made: MCPServer[Any] = MCPServer(
        "harvest",
        instructions=INSTRUCTIONS,
        version=version("hpc-harvest"),
        log_level="CRITICAL",
        subscriptions=False,
    )
    tools = Tools(served, turns)
    for tool in (
        *(tools.datasets, tools.tables, tools.table, tools.rows, tools.sql),
        *(tools.findings, tools.reports, tools.report),
    ):
        # programs compute with the result of a query
        made.add_tool(tool, annotations=_READS, structured_output=tool == tools.sql)
    return made


def _to_text(answer: Any) -> str:
    return answer if isinstance(answer, str) else orjson.dumps(answer).decode()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _texts(settings: Mapping[str, object] | None) -> dict[str, str]:
    return {name: _text(value) for name, value in (settings or {}).items()}
