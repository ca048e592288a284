"""Settings that are files are given at the start: they count on every page, and for programs."""

from pathlib import Path

import orjson
import pytest
from scripts import run_script
from serving import harvest_served_here, serving

import harvest
from harvest import HarvestError
from harvest.plugins import manager
from harvest_serve.settings import Given, asked_for

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def test_a_longer_name_counts_more_and_what_others_take_is_left_out():
    given = Given.parse(["ncem.study=a", "ncem.comparison.study=b", "ncem.failed_scans.show=all"])
    plugins = manager()

    assert given.of(plugins.report("ncem.comparison")) == {"study": "b"}
    assert given.of(plugins.view("ncem.failed_scans")) == {"study": "a", "show": "all"}
    assert given.of(plugins.view("slurm.usage")) == {}


@pytest.mark.slow
def test_a_file_of_the_start_counts_in_rows_sql_and_pages(dataset, snapshot, tmp_path):
    # given a view that reads the word to look for from a file
    (tmp_path / "the words.txt").write_text("a")
    expected = snapshot.dataset["served.thing"].collect()["word"].to_list().count("a")

    with serving(dataset, "--set", f"served.words={tmp_path / 'the words.txt'}") as server:
        rows = server.ask("/api/out/tables/served.of_word/rows").json
        counted = server.sql("select count(*) as n from served.of_word").json
        page = server.ask("/d/out/table/served.of_word").text
        start = server.ask("/d/out/").text
        refused = server.ask("/api/out/tables/served.of_word/rows?set.words=/etc/passwd")

    assert rows["total"] == expected
    assert counted["rows"] == [{"n": expected}]
    # then pages name the setting and the file, and not where the file is
    assert "words = the words.txt" in page
    assert "served.words = the words.txt" in start
    assert str(tmp_path / "the words.txt") not in page + start
    # and an address cannot name another file
    assert (refused.status, "may be a file" in refused.text) == (400, True)


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_setting_that_does_not_fit_ends_the_start(dataset, command):
    done = harvest_served_here(command, dataset, "--set", "servd.words=x")

    assert (done.returncode, done.stdout) == (2, "")
    assert "--set servd.words: no view or report" in done.stderr
    assert "did you mean 'served'" in done.stderr


def test_settings_of_a_recipe_are_for_its_datasets_and_those_of_the_command_line_on_top(tmp_path):
    (tmp_path / "study.toml").touch()
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f"""
        sink = [{{location = "a"}}, {{location = "b.jsonl"}}, {{name = "jsonl", location = "-"}}]
        [serve.set.ncem]
        study = "{tmp_path / "study.toml"}"
        failed_scans.show = "all"
    """)

    found = asked_for([recipe, Path("c")], ["ncem.failed_scans.show=failed", "slurm.usage.top=3"])

    given = {str(path): each.values for path, each in found}
    on_top = {"ncem.failed_scans.show": "failed", "slurm.usage.top": "3"}
    study = {"ncem.study": str(tmp_path / "study.toml")}
    assert given == {"a": {**study, **on_top}, "b.jsonl": given["a"], "c": on_top}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set.ncm.study = 'x'", r"\[serve\] set.ncm.study: .*did you mean 'ncem'"),
        ("set.ncem.studi = 'x'", r"\[serve\] set.ncem.studi: .*did you mean 'study'"),
        ("set.ncem.study = 'missing.toml'", r"\[serve\] set.ncem.study: no such file"),
        ("set.study = 'x'", r"\[serve\] set.study is not a setting; write set.NAME.KEY"),
        ("sett.ncem.study = 'x'", r"unknown key of \[serve\] 'sett'; did you mean 'set'"),
        ("", "this recipe writes no dataset"),
    ],
)
def test_a_table_of_a_recipe_that_does_not_fit_is_refused(text, said, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f"[serve]\n{text}\n")

    with pytest.raises(HarvestError, match=f"{recipe}.*{said}"):
        asked_for([recipe], None)
    if text.startswith("set.ncem"):  # the command line is checked in the same way
        with pytest.raises(HarvestError, match=f"--set {said.partition('set.')[2]}"):
            asked_for([], [text.removeprefix("set.").replace(" ", "").replace("'", "")])


@pytest.mark.slow
def test_a_study_fills_the_comparison_in_the_browser(tmp_path):
    example, out = EXAMPLES / "ncem-study", tmp_path / "out"
    study = example / "study.toml"
    run_script(example / "make_study.py", tmp_path / "study")
    harvest.run(f"ncem:{tmp_path / 'study'}", f"parquet:{out}", workers=1)
    dataset = harvest.open(out)
    without, expected = (
        orjson.loads(orjson.dumps(made.to_dict(), option=orjson.OPT_UTC_Z))
        for made in (
            dataset.report("ncem.comparison", **settings) for settings in ({}, {"study": study})
        )
    )

    # when the recipe that writes it names the study
    (tmp_path / "recipe.toml").write_text(
        f'sink = [{{name = "parquet", location = "{out}"}}]\n[serve]\nset.ncem.study = "{study}"\n'
    )
    with serving(tmp_path / "recipe.toml") as server:
        made = server.ask("/api/out/reports/ncem.comparison").json
        page = server.ask("/d/out/report/ncem.comparison").text
        findings = server.ask("/api/out/findings").json["findings"]

    assert made["sections"] == expected["sections"]
    assert made["sections"] != without["sections"]
    assert "study = study.toml" in page
    with_study = dataset.findings(study=study).to_dict()["findings"]
    assert [each["headline"] for each in findings] == [each["headline"] for each in with_study]
