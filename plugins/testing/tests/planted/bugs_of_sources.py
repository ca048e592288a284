"""Bugs of sources, one for each promise that has one."""

from planted.planting import bug

BUGS = (
    bug("tree", "test_a_copy_gives_the_same", "time-of-the-file",
        "A card without a time gets that of its file, which a copy changes.",
        ('said.keys() >= {"user", "time"}', 'said.keys() >= {"user"}'),
        ('datetime.fromisoformat(said.pop("time"))',
         'datetime.fromisoformat(said.pop("time", str(datetime.fromtimestamp(path.stat().st_mtime).astimezone())))')),
    bug("tree", "test_a_copy_is_planned_alike", "tree-id-from-the-working-directory",
        "The id is the path from where the program was begun: from elsewhere all is read again.",
        ("id=str(path.relative_to(top))", "id=os.path.relpath(path)")),
    bug("ranges", "test_a_damaged_line_costs_itself_alone", "fourth-ranges-lines-of-64k",
        "A line is read up to 64 KiB: a longer one is lost in several rejects that were no lines, "
        "and all that follow in the range have wrong positions, which depend on its bounds.",
        ("raw = file.readline()\n", "raw = file.readline(1 << 16)\n")),
    bug("lines", "test_a_file_alone_gives_the_same", "lines-joins-location-and-id",
        "read joins location and id: a location that is one file, and not a directory, is a reject.",
        ('with partition.path.open("rb") as lines:',
         'with Path(self.location, partition.id).expanduser().open("rb") as lines:')),
    bug("lines", "test_another_process_gives_the_same", "notes-by-locale",
        "Lines are read in the locale's encoding: on another machine notes are garbled.",
        ("import attrs\n", "import locale\n\nimport attrs\n"),
        ('raw.decode("utf-8")', "raw.decode(locale.getencoding())")),
    bug("lines", "test_batch_size_does_not_matter", "one-record-filled-anew",
        "One record is filled anew for each line: all rows of a batch are its last.",
        ("        with partition.path.open", "        kept = None\n        with partition.path.open"),
        ("                yield row\n",
         "                kept = kept or row\n"
         "                for each in attrs.fields(Measurement):\n"
         "                    setattr(kept, each.name, getattr(row, each.name))\n"
         "                yield kept\n")),
    bug("lines", "test_corrupt_input_becomes_rejects", "bytes-replaced",
        "What is not UTF-8 is replaced by question marks, and nobody is told.",
        ('raw.decode("utf-8")', 'raw.decode("utf-8", "replace")')),
    bug("lines", "test_detection_is_harmless", "lines-detect-waits-for-a-pipe",
        "detect opens all that is no directory: at a named pipe it waits for ever.",
        ("        if not path.is_file():\n", "        if path.is_dir():\n")),
    bug("ranges", "test_inputs_are_complete", "fingerprint-constant",
        "The fingerprint never changes, so that an edited file is never read again.",
        ("            yield whole\n            return",
         '            yield attrs.evolve(whole, fingerprint="1")\n            return')),
    bug("lines", "test_interrupts_pass", "catches-all-at-a-yield",
        "Whatever comes up at the yield is made a reject of the line, also that the reading is "
        "given up or interrupted: it goes on, and a sound line is a reject.",
        ("number, zone)\n                except (ValueError, OverflowError) as error:",
         "number, zone)\n                    yield row\n                except BaseException as error:"),
        ("continue\n                yield row\n", "continue\n")),
    bug("ranges", "test_it_can_be_pickled", "ranges-holds-a-lock",
        "The source holds a lock, with which it cannot be pickled: it works here, and ends a run on a Dask cluster.",
        ("import csv\n", "import csv\nimport threading\n"),
        ('        self._counted = ("", 0, 0)  # a file, a place in it, and how many lines lie before\n',
         """\
        self._counted = ("", 0, 0)  # a file, a place in it, and how many lines lie before
        self._counting = threading.Lock()
"""),
        ("        before += count_lines(partition.path, place, partition.start)\n",
         """\
        with self._counting:
            before += count_lines(partition.path, place, partition.start)
""")),
    bug("tree", "test_names_of_any_bytes", "tree-globs-the-location",
        "The path is part of a pattern: below a directory with brackets in its name nothing is found.",
        ("import os\n", "import glob\nimport os\n"),
        ("""\
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
""",
         """\
        found = glob.glob(f"{folder}/*", include_hidden=True)
        if not found:
            os.listdir(folder)
        names = sorted(os.path.basename(path) for path in found)
""")),
    bug("tree", "test_no_global_state", "sixth-tree-entered-is-a-default",
        "The set of directories that were entered is a default argument: who plans again in the "
        "same process, as a watch does, is told that no job card is there.",
        ("level: int, entered: set[tuple[int, int]])", "level: int = 0, entered: set = set())"),
        ("self._cards(top, 0, set())", "self._cards(top)")),
    bug("lines", "test_nothing_is_left_behind", "left-in-tmp",
        "Lines are put aside in a directory that stays when the run has ended.",
        ("import attrs\n", "import tempfile\n\nimport attrs\n"),
        ("                ctx.advance(len(raw))\n",
         "                ctx.advance(len(raw))\n"
         '                Path(tempfile.mkdtemp(), "line").write_bytes(raw)\n')),
    bug("ranges", "test_partition_count_does_not_matter", "boundary-read-twice",
        "A line that begins where a range ends is read by both: rows are doubled.",
        ("file.tell() < partition.stop:", "file.tell() <= partition.stop:")),
    bug("lines", "test_progress_is_told", "progress-missing",
        "Nothing is said of the bytes that were read: the time left is never shown.",
        ("                ctx.advance(len(raw))\n", "")),
    bug("lines", "test_reasons_are_declared", "comment-takes-rows",
        "Rows without a value are counted as comments, and nobody misses them.",
        ('raw.startswith(b"#"):', 'raw.startswith(b"#") or b"\\t-\\t" in raw:')),
    bug("ranges", "test_settings_have_an_effect", "filtered-uncounted",
        "Flows that a setting leaves out are not counted: a run with that setting fails.",
        ('                    ctx.filtered(1, "fewer bytes")\n', "")),
    bug("ranges", "test_small_partitions_are_like_others", "counted-in-another-file",
        "What was counted in one file is taken for the next file's lines.",
        ("if path != partition.origin or place > partition.start:",
         "if place > partition.start:")),
    bug("ranges", "test_some_files_are_planned_alike", "changed-files-whole",
        "plan_files gives a large file whole: rows of its ranges are read a second time.",
        ("in file_partitions(self.location, files):\n            yield from self._ranges(whole)",
         "in file_partitions(self.location, files):\n            yield whole")),
    bug("lines", "test_time_zone_and_directory_do_not_matter", "local-time",
        "Times without a zone are those of the machine that harvests, and not of the declared zone.",
        ("time = time.replace(tzinfo=zone)", "time = time.astimezone()")),
    bug("ranges", "test_unknown_fields_are_kept", "extra-lost",
        "Columns that nobody knows are dropped without a word.",
        ("        extra=row or None,\n", "")),
    bug("tree", "test_unreadable_input_costs_itself_alone", "dead-link-skipped",
        "A link to a file that is gone is passed over: nobody hears that a card is missing.",
        ("(path.is_file() or path.is_symlink())", "path.is_file()")),
)  # fmt: skip
