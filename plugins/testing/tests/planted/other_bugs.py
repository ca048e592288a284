"""Bugs of sources that another place, day, order or value shows; see ``source_bugs``."""

from __future__ import annotations

from planted.bug import bug

TEXT = "texts.append(text)"
PLAN = "yield Partition(id=file.name, origin=str(file), inputs=inputs)"
REJECT = "ctx.reject(raw, str(error), position=position)"
LISTED = "list_files(path) if path.is_dir()"
HEAD = "head = file.read(64)"
FOUND_BY_HEAD = 'if head[:13].isdigit() and head[13:14] == b"\\t":'
BATCH = "enumerate(batch, number + 1)"
TASK_TIME = "time if time.tzinfo else time.replace(tzinfo=zone)"
TEXTS = "test_texts_come_as_they_are"
COPY = "test_a_copy_is_planned_alike"

MANGLED = (
    bug("texts are written in lower case", "columnar", TEXTS, TEXT, "texts.append(text.lower())"),
    bug("texts are cut at 255 characters", "columnar", TEXTS, TEXT, "texts.append(text[:255])"),
    bug("blanks at the ends of a text go", "columnar", TEXTS, TEXT, "texts.append(text.strip())"),
    bug(
        "texts are normalised",
        "columnar",
        TEXTS,
        TEXT,
        'texts.append(__import__("unicodedata").normalize("NFC", text))',
    ),
    bug(
        "times lose their microseconds",
        "tasks",
        "test_times_keep_their_microseconds",
        TASK_TIME,
        f"({TASK_TIME}).replace(microsecond=0)",
    ),
    bug(
        "ids wrap at 32 bits",
        "tasks",
        "test_numbers_keep_their_digits",
        "id=identity,",
        "id=identity if identity > 2**52 else identity % 2**32,",
    ),
    bug(
        "the raw text of a reject is stripped",
        "columnar",
        "test_a_damaged_line_costs_itself_alone",
        REJECT,
        REJECT.replace("raw", "raw.strip()"),
    ),
    bug(
        "the raw text of a reject is cut",
        "columnar",
        "test_a_damaged_line_costs_itself_alone",
        REJECT,
        REJECT.replace("raw", "raw[:200]"),
    ),
    bug(
        "one bad value costs its batch",
        "columnar",
        "test_a_damaged_line_costs_itself_alone",
        f"{REJECT}\n                continue",
        f"for position, raw in {BATCH}:\n                    {REJECT}\n"
        "                return self.table([], number, wanted, ctx)",
    ),
)

ELSEWHERE = (
    bug(
        "a partition's id is made of its folder",
        "tasks",
        COPY,
        PLAN,
        PLAN.replace("file.name", "str(__import__('zlib').crc32(bytes(file)))", 1),
    ),
    bug(
        "a partition's id names the host",
        "tasks",
        "test_another_day_gives_the_same",
        PLAN,
        PLAN.replace("file.name", "__import__('socket').gethostname() + file.name", 1),
    ),
    bug(
        "a fingerprint is that of the day",
        "tasks",
        "test_another_day_gives_the_same",
        PLAN,
        PLAN.replace("inputs=", "fingerprint=str(datetime.now().date()), inputs="),
    ),
    bug(
        "a fingerprint never changes",
        "tasks",
        "test_inputs_are_complete",
        PLAN,
        PLAN.replace("inputs=", 'fingerprint="1", inputs='),
    ),
    bug(
        "a fingerprint is the size",
        "tasks",
        "test_inputs_are_complete",
        PLAN,
        PLAN.replace("inputs=", "fingerprint=str(file.stat().st_size), inputs="),
    ),
    bug(
        "links to directories are followed",
        "tasks",
        "test_links_are_not_followed_round",
        LISTED,
        "sorted(Path(d, n) for d, _, names in __import__('os').walk(path, followlinks=True) "
        "for n in names) if path.is_dir()",
    ),
    bug(
        "rows come in the order of a set",
        "columnar",
        "test_another_process_gives_the_same",
        f"in {BATCH}",
        f"in set({BATCH})",
    ),
    bug(
        "the source counts what it has read",
        "tasks",
        "test_partitions_are_independent",
        "    def row(self, raw, number, zone, names):\n",
        "    def row(self, raw, number, zone, names):\n"
        "        self.rows = getattr(self, 'rows', 0) + 1\n",
        "extra={",
        'extra={"row": str(self.rows)} | {',
    ),
    bug(
        "detect() reads to the end of a line",
        "columnar",
        "test_detection_is_bounded",
        HEAD,
        "head = file.readline()",
    ),
    bug(
        "detect() leaves the file open",
        "columnar",
        "test_detection_is_bounded",
        'with path.open("rb") as file:\n            head',
        'file = cls.held = path.open("rb")\n        if True:\n            head',
    ),
    bug(
        "detect() is sure by the name",
        "columnar",
        "test_detection_is_not_by_name_alone",
        FOUND_BY_HEAD,
        'if path.suffix == ".tsv":',
    ),
)
