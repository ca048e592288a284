"""Bugs of sources: one line on each, where it is planted, and the test of the kit that finds it.

``docs/testing-plugins.md`` shows this table; a test compares the two.
"""

from __future__ import annotations

from planted.bug import bug, unseen
from planted.other_bugs import ELSEWHERE, MANGLED

APPEND = "            positions.append(position)\n"
BLANK = 'ctx.folded(1, "blank line")\n                continue\n'
REJECT = "ctx.reject(raw, str(error), position=position)"
READ = "    def read(self, partition, ctx):\n"
TASK_TIME = "time if time.tzinfo else time.replace(tzinfo=zone)"
TASK_REJECT = 'ctx.reject(raw, f"no task: {error!r}", position=number)\n'

POSITIONS = (
    bug(
        "positions begin at 0",
        "columnar",
        "test_each_line_is_accounted_for",
        "enumerate(batch, number + 1)",
        "enumerate(batch, number)",
    ),
    bug(
        "positions are one too high",
        "columnar",
        "test_each_line_is_accounted_for",
        "enumerate(batch, number + 1)",
        "enumerate(batch, number + 2)",
    ),
    bug(
        "rows have the position of the line below",
        "tasks",
        "test_a_line_can_be_added",
        "            position=number,\n",
        "            position=number % 5 + 1,\n",
    ),
    bug(
        "positions count from 1 in every batch",
        "columnar",
        "test_many_lines_are_numbered_alike",
        "number += len(batch)",
        "number += 0",
    ),
    bug(
        "positions count rows, not lines",
        "tasks",
        "test_a_line_can_be_added",
        "            position=number,\n",
        "            position=None,\n",
    ),
    bug(
        "positions count from 1 in every range",
        "ranges",
        "test_partition_count_does_not_matter",
        'number = partition.options["before"]',
        "number = 0",
    ),
    bug(
        "blank lines have no number",
        "columnar",
        "test_a_line_can_be_added",
        "list(islice(lines, BATCH_LINES))",
        "list(islice((line for line in lines if line.strip()), BATCH_LINES))",
    ),
    bug(
        "rejects have no position",
        "columnar",
        "test_each_line_is_accounted_for",
        REJECT,
        "ctx.reject(raw, str(error))",
    ),
    bug(
        "a reject has another line's position",
        "tasks",
        "test_each_line_is_accounted_for",
        TASK_REJECT,
        TASK_REJECT.replace("position=number", "position=number + 1"),
    ),
)

LINES = (
    bug(
        "the first line is taken for a header",
        "columnar",
        "test_each_line_is_accounted_for",
        "if not line:\n                ctx",
        "if not line or position == 1:\n"
        "                if line:\n                    continue\n                ctx",
    ),
    bug(
        "the last line is dropped",
        "tasks",
        "test_each_line_is_accounted_for",
        "enumerate(lines, 1):",
        "enumerate(list(lines)[:-1], 1):",
    ),
    bug(
        "a last line without newline is dropped",
        "columnar",
        "test_line_ends_do_not_matter",
        "            if not line:\n",
        '            if not raw.endswith(b"\\n"):\n'
        "                ctx.read(-1)\n                continue\n            if not line:\n",
    ),
    bug(
        "the last column keeps the carriage return",
        "columnar",
        "test_line_ends_do_not_matter",
        '.removesuffix(b"\\r")',
        "",
    ),
    bug(
        "a carriage return begins a line",
        "tasks",
        "test_line_ends_do_not_matter",
        'with partition.path.open("rb") as lines:\n',
        'with open(partition.origin, "rb") as file:\n            lines = '
        'file.read().replace(b"\\r", b"\\n").splitlines(keepends=True)\n',
    ),
    bug(
        "a byte order mark stays in the first value",
        "ranges",
        "test_line_ends_do_not_matter",
        'line = line.removeprefix(b"\\xef\\xbb\\xbf")',
        "pass",
    ),
    bug(
        "lines that cannot be read are passed over",
        "tasks",
        "test_each_line_is_accounted_for",
        "                ctx.read(1)\n",
        "",
        "                    " + TASK_REJECT,
        "",
    ),
    bug(
        "lines that cannot be read are called filtered",
        "columnar",
        "test_reasons_are_declared",
        REJECT,
        'ctx.filtered(1, "not an event")',
    ),
    bug(
        "equal lines become one row",
        "tasks",
        "test_a_line_can_be_added",
        READ + "        zone",
        READ + "        seen = set()\n        zone",
        "                ctx.read(1)\n",
        "                if raw in seen:\n"
        "                    continue\n                seen.add(raw)\n"
        "                ctx.read(1)\n",
    ),
)

COUNTS = (
    bug(
        "rejects are counted twice",
        "tasks",
        "test_accounting_adds_up",
        TASK_REJECT,
        TASK_REJECT + "                    " + TASK_REJECT,
    ),
    bug(
        "a reject is read twice, too",
        "tasks",
        "test_accounting_adds_up",
        TASK_REJECT,
        TASK_REJECT + "                    ctx.read(1)\n                    " + TASK_REJECT,
    ),
    bug(
        "rejects have no reason",
        "columnar",
        "test_accounting_adds_up",
        REJECT,
        'ctx.reject(raw, "", position=position)',
    ),
    bug(
        "rejects have no raw text",
        "columnar",
        "test_each_line_is_accounted_for",
        REJECT,
        'ctx.reject(b"", str(error), position=position)',
    ),
    bug(
        "what a setting leaves out is not counted",
        "columnar",
        "test_settings_have_an_effect",
        'ctx.filtered(left_out, "below the level")',
        "ctx.read(-left_out)",
    ),
    bug(
        "a truncated gzip ends quietly",
        "packed",
        "test_corrupt_input_becomes_rejects[truncated]",
        'raise SourceError(f"damaged: {error}", where=str(partition.path)) from error',
        "return",
    ),
    bug(
        "an input that cannot be opened ends the plan",
        "columnar",
        "test_unreadable_input_costs_itself_alone",
        READ,
        "    def plan(self):\n        for partition in super().plan():\n            "
        'partition.path.open("rb").close()\n            yield partition\n\n' + READ,
    ),
    bug(
        "an input that cannot be opened is left out of the plan",
        "columnar",
        "test_unreadable_input_costs_itself_alone",
        READ,
        "    def plan(self):\n        return (p for p in super().plan() if p.path.is_file())\n\n"
        + READ,
    ),
    bug(
        "an input that cannot be opened gives no rows",
        "tasks",
        "test_unreadable_input_is_reported",
        READ,
        "    def read(self, partition, ctx):\n        try:\n            yield from "
        "self.rows(partition, ctx)\n        except OSError:\n            return\n\n"
        "    def rows(self, partition, ctx):\n",
    ),
    bug(
        "an exception of the parser ends the run",
        "tasks",
        "test_corrupt_input_becomes_rejects[large_number]",
        "type(identity) is not int or not -(2**63) <= identity < 2**63",
        "type(identity) is not int",
    ),
)

VALUES = (
    bug(
        "bytes that are no UTF-8 are replaced",
        "columnar",
        "test_corrupt_input_becomes_rejects[other_encoding]",
        "line.decode().split",
        'line.decode(errors="replace").split',
    ),
    bug(
        "bytes that are no UTF-8 are dropped",
        "columnar",
        "test_bytes_are_never_dropped",
        "line.decode().split",
        'line.decode(errors="ignore").split',
    ),
    bug(
        "keys that the record type lacks are dropped",
        "tasks",
        "test_unknown_fields_are_kept",
        "extra={key: json.dumps(value) for key, value in found.items()} or None,",
        "",
    ),
    bug(
        "times without a zone are those of the machine",
        "tasks",
        "test_time_zone_and_directory_do_not_matter",
        TASK_TIME,
        "time.astimezone()",
    ),
    bug(
        "times without a zone are UTC, whatever the setting",
        "tasks",
        "test_settings_have_an_effect",
        TASK_TIME,
        "time if time.tzinfo else time.replace(tzinfo=ZoneInfo('UTC'))",
    ),
    bug(
        "a column has naive times",
        "columnar",
        "test_accounting_adds_up",
        'pa.timestamp("us", "UTC")',
        'pa.timestamp("us")',
    ),
    bug("an instance has a naive time", "tasks", "test_accounting_adds_up", TASK_TIME, "time"),
    bug(
        "milliseconds are taken for microseconds",
        "columnar",
        "test_times_are_plausible",
        "int(millis) * 1000",
        "int(millis)",
    ),
    bug(
        "milliseconds are cut off",
        "columnar",
        "test_known_rows_come_as_they_are",
        "int(millis) * 1000",
        "int(millis) // 1000 * 1000000",
    ),
    bug(
        "whole numbers pass through a float",
        "tasks",
        "test_corrupt_input_becomes_rejects[large_number]",
        "            id=identity,\n",
        "            id=int(float(identity)),\n",
        "identity < 2**63",
        "identity < 2**62",
    ),
    bug(
        "ids are declared as float",
        "tasks",
        "test_schema_is_declared",
        'id: int = field(role="job"',
        'id: float = field(role="job"',
    ),
    bug(
        "an empty text becomes null",
        "tasks",
        "test_known_rows_come_as_they_are",
        "            name=name,\n",
        "            name=name or None,\n",
    ),
    bug(
        "a column is cut at its second separator",
        "columnar",
        "test_known_rows_come_as_they_are",
        '.split("\\t", 2)',
        '.split("\\t")[:3]',
    ),
    bug(
        "the time of reading is in a row",
        "scaffold",
        "test_no_global_state",
        "time=time, name",
        "time=datetime.now(time.tzinfo), name",
    ),
    bug(
        "the order of a set decides a value",
        "tasks",
        "test_another_process_gives_the_same",
        "or None,\n            position",
        "| {'keys': ' '.join({*found, 'a', 'b', 'c', 'd'})},\n            position",
    ),
    bug(
        "the machine's encoding is used",
        "tasks",
        "test_another_process_gives_the_same",
        'with partition.path.open("rb") as lines:\n',
        'with partition.path.open(errors="backslashreplace") as texts:\n'
        '            lines = (text.encode("utf-8", "surrogatepass") for text in texts)\n',
    ),
)

STATE = (
    bug(
        "state is kept between partitions",
        "tasks",
        "test_partitions_are_independent",
        "        names = {}\n",
        "        names = self.__dict__.setdefault('names', {})\n",
        "            told = Path",
        "            names.update({'9': 'ninth'})\n            told = Path",
        'found.pop("name", names.get(str(identity)))',
        'names.get("9") or found.pop("name", names.get(str(identity)))',
        "            names = dict(",
        "            _ = dict(",
    ),
    bug(
        "a mutable attribute of the class remembers",
        "tasks",
        "test_no_global_state",
        "    Config = Config\n",
        "    Config = Config\n    seen = []\n",
        "            name=name,\n",
        "            name=f'{name} {len(self.seen)}',\n",
        "        zone = ZoneInfo",
        "        self.seen.append(1)\n        zone = ZoneInfo",
    ),
    bug(
        "a cache is keyed by the file's name",
        "scaffold",
        "test_content_alone_decides",
        '        with partition.path.open("rb") as lines:\n',
        "        if partition.path.name not in SEEN:\n"
        "            SEEN[partition.path.name] = partition.path.read_bytes()\n"
        "        lines = SEEN[partition.path.name].splitlines(keepends=True)\n"
        "        if True:\n",
        '@harvest.record("planted.measurement"',
        'SEEN = {}\n\n\n@harvest.record("planted.measurement"',
    ),
    bug(
        "a partition cannot be pickled",
        "ranges",
        "test_it_can_be_pickled",
        'options={"before": before}',
        'options={"before": before, "parse": lambda text: text}',
    ),
    bug(
        "a temporary file stays",
        "tasks",
        "test_nothing_is_left_behind",
        "        zone = ZoneInfo",
        "        import tempfile\n"
        "        tempfile.NamedTemporaryFile(delete=False).close()\n        zone = ZoneInfo",
    ),
    bug(
        "an index is written beside the input",
        "tasks",
        "test_the_input_is_left_as_it_is",
        "        zone = ZoneInfo",
        '        partition.path.with_suffix(".index").touch()\n        zone = ZoneInfo',
    ),
    bug(
        "a file is never closed",
        "tasks",
        "test_nothing_is_left_behind",
        "        zone = ZoneInfo",
        "        for line in open(partition.origin, 'rb'):\n"
        "            break\n        zone = ZoneInfo",
    ),
    bug(
        "it prints",
        "node",
        "test_nothing_is_left_behind",
        "        metrics = _Metrics()\n",
        "        metrics = _Metrics()\n        print('reading')\n",
    ),
    bug(
        "Ctrl-C is caught with everything else",
        "scaffold",
        "test_interrupts_pass",
        "except ValueError as error:",
        "except BaseException as error:",
    ),
    bug(
        "all rows are gathered first",
        "columnar",
        "test_memory_is_bounded",
        "    def read(self, partition, ctx):\n",
        "    def read(self, partition, ctx):\n"
        "        yield from list(self.rows(partition, ctx))\n\n"
        "    def rows(self, partition, ctx):\n",
    ),
    bug(
        "the file is read as a whole",
        "columnar",
        "test_memory_is_bounded",
        'with partition.path.open("rb") as file:\n            packed',
        "import io\n        data = io.BytesIO(partition.path.read_bytes())\n"
        "        with io.BufferedReader(data) as file:\n            packed",
    ),
)

PLANS = (
    bug(
        "ranges overlap",
        "ranges",
        "test_partition_count_does_not_matter",
        "stop = min(start + self.config.range_bytes, size)",
        "stop = min(start + self.config.range_bytes + 1, size)",
    ),
    bug(
        "the line at a border is lost",
        "ranges",
        "test_partition_count_does_not_matter",
        "file.seek(partition.start - 1)",
        "file.seek(partition.start)",
    ),
    bug(
        "a range is read beyond its end",
        "ranges",
        "test_partition_count_does_not_matter",
        "while file.tell() < partition.stop and (raw := file.readline())",
        "while raw := file.readline()",
    ),
    bug(
        "a range ends before its last line",
        "ranges",
        "test_partition_count_does_not_matter",
        "                number += 1\n                ctx.read(1)\n",
        "                number += 1\n                if file.tell() > partition.stop:\n"
        "                    break\n                ctx.read(1)\n",
    ),
    bug(
        "plan() lists as the file system does",
        "tasks",
        "test_planning_is_sorted",
        "list_files(path) if",
        "list(path.iterdir()) if",
    ),
    bug(
        "plan() is shuffled",
        "tasks",
        "test_planning_is_repeatable",
        "        for file in files:\n",
        "        import random\n\n"
        "        for file in sorted(files, key=lambda _: random.SystemRandom().random()):\n",
    ),
    bug(
        "plan_files() calls a file otherwise than plan()",
        "scaffold",
        "test_some_files_are_planned_alike",
        "    def read(self, partition: Partition, ctx",
        "    def plan_files(self, files):\n"
        "        return (harvest.file_partition(file, id=str(file)) for file in files)\n\n"
        "    def read(self, partition: Partition, ctx",
    ),
    bug(
        "plan_files() forgets what a file was read with, once that is gone",
        "tasks",
        "test_some_files_are_planned_alike",
        READ,
        "    def plan_files(self, files):\n"
        "        there = {str(file) for file in files if file.exists()}\n"
        "        return [p for p in self.plan() if there.intersection(p.inputs)]\n\n" + READ,
    ),
    bug(
        "plan_files() opens a file that is gone",
        "tasks",
        "test_some_files_are_planned_alike",
        READ,
        "    def plan_files(self, files):\n"
        "        known = {str(file) for file in files if file.open().close() is None}\n"
        "        return [p for p in self.plan() if known.intersection(p.inputs)]\n\n" + READ,
    ),
    bug(
        "plan_files() gives a part of an origin's partitions",
        "ranges",
        "test_some_files_are_planned_alike",
        READ,
        "    def plan_files(self, files):\n"
        "        return [p for p in self.plan() if p.inputs[0] in map(str, files)][:1]\n\n" + READ,
    ),
    bug(
        "plan() opens and parses everything",
        "scaffold",
        "test_planning_is_cheap",
        "    def read(self, partition: Partition, ctx",
        "    def plan(self):\n"
        "        for partition in super().plan():\n"
        "            if partition.path.read_bytes().count(b' ') > 0:\n"
        "                yield partition\n\n    def read(self, partition: Partition, ctx",
    ),
    bug(
        "an input is missing from the partition",
        "tasks",
        "test_inputs_are_complete",
        "inputs=inputs)",
        "inputs=inputs[:1], options={'names': inputs[1:]})",
        "len(partition.inputs) > 1",
        "partition.options['names']",
        "Path(partition.inputs[1])",
        "Path(partition.options['names'][0])",
    ),
    bug(
        "detect() recognises everything",
        "columnar",
        "test_detection_is_harmless",
        "        return None\n\n    def read",
        "        return Detection(0.5, 'a file')\n\n    def read",
    ),
    bug(
        "detect() raises for a directory",
        "columnar",
        "test_detection_is_harmless",
        "        if not path.is_file():\n            return None\n",
        "",
    ),
    bug(
        "detect() reads the whole file",
        "tasks",
        "test_planning_is_cheap",
        "file.read(4096)",
        "file.read()",
    ),
)

SETTINGS = (
    bug(
        "a setting is ignored",
        "scaffold",
        "test_settings_have_an_effect",
        "if self.config.name is not None and name != self.config.name:",
        "if not name:",
    ),
    bug(
        "a setting's default has another type",
        "ranges",
        "test_schema_is_declared",
        "1 << 26, positive",
        "str(1 << 26)",
    ),
    bug(
        "two record types have one name",
        "tasks",
        "test_schema_is_declared",
        "@attrs.frozen(kw_only=True)\n",
        '@harvest.record("planted.task", layer="workflow", level="worker")\n'
        'class Step(Record):\n    """A step."""\n\n\n@attrs.frozen(kw_only=True)\n',
        "record_types = (Task,)",
        "record_types = (Task, Step)",
    ),
)

UNSEEN = (
    unseen(
        "the reason of a reject is true of no reject",
        "tasks",
        "whether words fit what they are about is for a reader to judge",
        'f"no task: {error!r}"',
        '"see the manual"',
    ),
    unseen(
        "a column's doc and unit are wrong",
        "ranges",
        "what a column means is declared nowhere but there",
        'doc="The value."',
        'unit="m", doc="How far."',
    ),
    unseen(
        "a value is wrong that the sample does not have",
        "columnar",
        "no format says what else may come; let the sample have every kind of line",
        "texts.append(text)",
        'texts.append(text if text != "good evening" else "")',
    ),
    unseen(
        "an unused cache grows by file",
        "tasks",
        "what is kept and never used changes no row; memory is measured over one large input",
        "        zone = ZoneInfo",
        "        KEPT.append(partition)\n        zone = ZoneInfo",
        "@attrs.frozen(kw_only=True)\n",
        "KEPT = []\n\n\n@attrs.frozen(kw_only=True)\n",
    ),
)

DAY = (
    bug(
        "the day of reading, in UTC, is in a row",
        "scaffold",
        "test_another_day_gives_the_same",
        "name=name, value",
        "name=f'{name}, {datetime.now(time.tzinfo).date()}', value",
    ),
)

FOUND = (
    *POSITIONS,
    *LINES,
    *COUNTS,
    *VALUES,
    *MANGLED,
    *STATE,
    *ELSEWHERE,
    *DAY,
    *PLANS,
    *SETTINGS,
)
