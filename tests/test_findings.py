"""What rules conclude from a dataset: findings with their evidence, on every way they are shown."""

import functools
import json
import shlex
from pathlib import Path

import attrs
import polars as pl
import pytest
from commands import harvest_here
from datasets import plugins_with

import harvest
from harvest import Finding, ReportSpec, Rule, Threshold, UsageError, View, declare, hookimpl
from harvest.errors import PluginError
from harvest.findings import evaluate
from harvest.findings.model import Verdict
from harvest.plugins.known import is_ours
from harvest.plugins.registry import manager
from harvest_report import Notes, Report
from harvest_testing import judge

WASTED = pl.DataFrame(
    {
        "user": ["ada", "ada", "o'neil", "tim"],
        "day": ["mon", "tue", "mon", "mon"],
        "wasted": [7.5, 3.0, 9.0, 0.5],
    }
)

HOURS = {"user": pl.String, "wasted": pl.Float64}


def ambiguous(dataset, *, day=None):
    """A view that cannot choose by itself."""
    if day not in ("mon", "tue"):
        raise UsageError("two days", remedy="choose one with day=")
    return wasted(dataset, day=day)


def wasted(dataset, *, day=None):
    """Hours that users wasted, by day."""
    return WASTED.lazy() if day is None else WASTED.lazy().filter(pl.col("day") == day)


def one_each(rows, total, *, hours):
    """A finding per user."""
    for user, lost in rows.group_by("user", maintain_order=True).agg(pl.sum("wasted")).iter_rows():
        severity = "high" if lost > 9.5 else "medium"
        detail = f"{rows.height} of {total} rows are over {hours:g} h."
        yield Finding(severity, f"{user} wasted {lost:g} h", detail, {"user": user})


RULE = Rule(
    name="test.waste",
    doc="Users whose jobs wasted hours.",
    view="test.wasted",
    where="wasted > {hours}",
    columns=("user", "wasted"),
    judge=one_each,
    advice="Ask for less.",
    reference="this test",
    thresholds={"hours": Threshold(1, "hours that may be wasted")},
    reports=("test.page",),
)
BLIND = Rule(
    name="test.blind",
    doc="Needs what is never there.",
    view="test.wasted",
    where="wasted > 0",
    columns=("wasted",),
    judge=one_each,
    advice="",
    reference="",
    requires=("nobody.writes_this",),
    reports=("test.page",),
)

harvest_views = declare(
    View(name="test.wasted", doc="Waste.", build=wasted, settings={"day": "of the week"}),
    View(name="test.ambiguous", doc="-", build=ambiguous, settings={"day": "of the week"}),
    View(name="test.frame", doc="-", build=lambda dataset: WASTED),
    View(name="test.elsewhere", doc="-", build=wasted, requires=("nobody.writes_this",)),
)


@hookimpl
def harvest_rules():
    return [RULE, BLIND, harvest_evolved(name="test.choosy", view="test.ambiguous", reports=())]


harvest_reports = declare(
    ReportSpec(
        name="test.page",
        doc="A page.",
        build=lambda dataset, day=None: Report("Waste", sections=[Notes("n", ["All."])]),
        settings={"day": "of the week"},
    ),
)


@pytest.fixture(scope="module")
def location(tmp_path_factory) -> Path:
    """A dataset with a few rows: what is in it does not matter to these rules."""
    folder = tmp_path_factory.mktemp("findings")
    (folder / "scan_times_1_2.csv").write_text("scan,id\n")
    (folder / "sacct.txt").write_text("JobID|State\n1|COMPLETED\n")
    harvest.run([f"slurm:{folder / 'sacct.txt'}"], f"parquet:{folder / 'out'}", workers=1)
    return folder / "out"


@pytest.fixture
def dataset(location):
    """The same, opened with this module's rules beside core and parquet."""
    plugins = plugins_with(
        parquet="harvest_parquet.plugin", slurm="harvest_slurm.plugin", mine=__name__
    )
    return harvest.open(location, plugins=plugins)


def texts(verdict: Verdict) -> list[str]:
    return [found.finding.text for found in verdict.found]


def test_a_rule_gives_sentences_the_worst_first_and_evidence_that_gives_their_rows_again(dataset):
    verdict = dataset.findings(["test.waste", "test.blind"])

    assert texts(verdict) == [
        "ada wasted 10.5 h. 3 of 4 rows are over 1 h.",
        "o'neil wasted 9 h. 3 of 4 rows are over 1 h.",
    ]
    assert [found.finding.severity for found in verdict.found] == ["high", "medium"]
    for found, rows in zip(verdict.found, (2, 1), strict=True):
        evidence = found.evidence
        shown = dataset.view(evidence.view).filter(pl.sql_expr(evidence.where)).collect()
        assert shown.select("user", "wasted").equals(evidence.first)
        assert shown.height == evidence.rows == rows
    assert verdict.unjudged == (("test.blind", "the dataset holds no nobody.writes_this"),)
    assert verdict.summary() == "2 findings: 1 high, 1 medium. 1 check lacks data."


def test_thresholds_and_settings_of_views_are_the_user_s(dataset):
    strict = dataset.findings(["test.waste"], thresholds={"test.waste": {"hours": 8}})
    monday = dataset.findings(["test.waste"], day="mon")

    assert texts(strict) == ["o'neil wasted 9 h. 1 of 4 rows are over 8 h."]
    assert texts(monday)[0] == "ada wasted 7.5 h. 2 of 3 rows are over 1 h."
    command = monday.found[0].evidence.command("out")
    assert "--set=day=mon" in command
    # what it rests on is shown, though views have more columns than a terminal
    assert "--columns=user,wasted" in command
    nothing = dataset.findings(["test.waste"], thresholds={"test.waste": {"hours": 100}})
    assert (nothing.found, nothing.passed) == ((), ("test.waste",))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda d: d.findings(["test.wast"]), "unknown rule 'test.wast'"),
        (lambda d: d.findings(["test.waste"], month="may"), "no view .* has a setting 'month'"),
        (lambda d: d.findings(thresholds={"test.waste": {"hour": 1}}), "no threshold 'hour'"),
        (lambda d: d.findings(thresholds={"test.waste": {"hours": "x"}}), "'x' is not a number"),
    ],
)
def test_what_does_not_exist_is_refused(dataset, ask, message):
    with pytest.raises(UsageError, match=message):
        ask(dataset)


INVENTED = Finding("low", "Somebody wasted much", where={"user": "nobody"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"judge": lambda rows, total, *, hours: [INVENTED]}, "found what no row"),
        ({"judge": lambda rows, total, *, hours: "much"}, "gave 'm' instead of a Finding"),
        ({"judge": lambda rows, total, *, hours: None}, "gave None instead of a Finding"),
        ({"columns": ("user", "lost")}, "'test.waste' reads 'lost', which its view lacks"),
        ({"where": "wasted > {hour}"}, "cannot be filled in: 'hour'"),
    ],
)
def test_what_a_rule_does_wrongly_is_its_defect(changes, message):
    with pytest.raises(PluginError, match=message):
        judge(harvest_evolved(**changes), WASTED)


def test_a_view_that_returns_no_lazy_frame_is_named(dataset):
    with pytest.raises(PluginError, match="returned DataFrame instead of a LazyFrame"):
        dataset.view("test.frame")


def harvest_evolved(**changes) -> Rule:
    """The rule with something else in it."""
    known = {name: getattr(RULE, name) for name in Rule.__slots__ if name != "__weakref__"}
    return Rule(**{**known, **changes})


def test_a_report_begins_with_the_findings_of_the_rules_that_name_it(dataset):
    report = dataset.report("test.page", day="mon")

    assert texts(report.verdict) == [
        "ada wasted 7.5 h. 2 of 3 rows are over 1 h.",
        "o'neil wasted 9 h. 2 of 3 rows are over 1 h.",
    ]
    for shown in (report.text(60), report.html(), report.latex()):
        assert shown.index("ada wasted 7.5 h") < shown.index("All.")
    assert report.to_dict()["verdict"]["findings"][0]["rule"] == "test.waste"
    assert max(map(len, report.text(60).splitlines())) <= 60
    assert "&#39;" in report.html()  # o'neil, and the quotes of the condition
    assert report.only("n").verdict is None


def test_machines_read_findings_as_a_view(dataset):
    found = dataset.view("findings").collect()

    assert found["rule"].to_list() == ["test.waste", "test.waste"]
    assert found["text"][0] == f"ada wasted 10.5 h. {found['detail'][0]}"
    assert found["where"][1] == "(wasted > 1) and \"user\" = 'o''neil'"
    assert json.loads(found["settings"][0]) == {}


def test_the_command_lists_rules_and_says_what_cannot_be_judged(location):
    listed = json.loads(harvest_here("findings", "--json").stdout)
    verdict = json.loads(harvest_here("findings", str(location), "--json").stdout)
    unknown = harvest_here("findings", str(location), "--rule", "slurm.nothing_like_this")

    assert {"name", "doc", "view", "where", "thresholds"} <= set(listed[0])
    judged = {f["rule"] for f in verdict["findings"]} | set(verdict["passed"])
    judged |= set(verdict["elsewhere"])
    assert judged | {r["rule"] for r in verdict["unjudged"]} == {r["name"] for r in listed}
    assert (unknown.returncode, unknown.stdout) == (2, "")
    for found in verdict["findings"]:  # what is printed as evidence can be run
        words = shlex.split(f"view {found['view']} {location} --json --where")
        rows = harvest_here(*words, found["where"]).stdout.splitlines()
        assert len(rows) == found["rows"]


@pytest.fixture(scope="module")
def failed(tmp_path_factory) -> Path:
    """A dataset with 30 jobs, of which 20 failed."""
    folder = tmp_path_factory.mktemp("failed")
    rows = [f"{n}|ada|{'FAILED' if n <= 20 else 'COMPLETED'}" for n in range(1, 31)]
    (folder / "sacct.txt").write_text("\n".join(["JobID|User|State", *rows]) + "\n")
    harvest.run([f"slurm:{folder / 'sacct.txt'}"], f"parquet:{folder / 'out'}", workers=1)
    return folder / "out"


@pytest.mark.slow
def test_a_finding_is_listed_in_short_and_shown_with_its_evidence(failed):
    rule = "slurm.failed_jobs"
    (found,) = json.loads(
        harvest_here("findings", failed, "--rule", rule, "--json").stdout
    )["findings"]  # fmt: skip
    listed = harvest_here("findings", failed, "--rule", rule).stdout
    by_number = harvest_here("findings", failed, "--rule", rule, "--show", "1").stdout
    by_name = harvest_here("findings", failed, "--show", rule).stdout
    absent = harvest_here("findings", failed, "--rule", rule, "--show", "2")

    assert found["headline"] in " ".join(listed.split())
    assert f"harvest findings {failed} --rule={rule} --show N" in " ".join(listed.split())
    for shown in (by_number, by_name):
        assert found["headline"] in " ".join(shown.split())
        assert f"harvest view {found['view']} {failed}" in shown
        assert "ada" in shown  # a row of the evidence
    assert (absent.returncode, absent.stdout) == (2, "")
    assert "no finding '2'" in absent.stderr


def test_what_was_not_checked_is_shown_when_asked_for(failed):
    listed = harvest_here("findings", failed, "--rule", "slurm.cpu_waste").stdout
    gaps = harvest_here("findings", failed, "--rule", "slurm.cpu_waste", "--show", "gaps").stdout

    assert "slurm.cpu_waste" not in listed.replace("--rule=slurm.cpu_waste", "")
    assert "Not checked: slurm.cpu_waste." in gaps


def test_rows_of_a_view_are_chosen_ordered_and_cut_to_columns(location):
    shown = functools.partial(harvest_here, "view", "slurm.jobs", location, "--json")

    (line,) = shown("--columns", "state, job_id,state", "--sort", "job_id desc").stdout.splitlines()
    assert list(json.loads(line))[1:] == ["state", "job_id"]
    for options, message in (
        (("--columns", "stat"), "unknown column 'stat'"),
        (("--sort", "state down"), "'state down' is not an order"),
    ):
        assert message in shown(*options).stderr


def test_rules_on_what_was_never_harvested_are_only_counted(dataset):
    away = harvest_evolved(name="test.away", view="test.elsewhere")

    verdict = evaluate(dataset, dataset.plugins, rules=[away])

    assert (verdict.found, verdict.unjudged, verdict.elsewhere) == ((), (), ("test.away",))
    assert verdict.summary() == "No findings. 1 check does not apply."


class OneView:
    """A dataset whose every view has these rows."""

    def __init__(self, rows):
        self.rows = rows

    def view(self, name, /, **settings):
        return self.rows.lazy()


@pytest.mark.parametrize(
    ("hours", "unjudged"),
    [
        ([None, None, None], ["test.waste", "test.wasted has no wasted in 3 rows"]),
        ([None, 0.5, 0.5], []),  # two rows can be judged, and are below the threshold
        ([], []),  # nobody wasted anything
    ],
)
def test_a_rule_judges_only_where_a_row_has_what_it_chooses_by(dataset, hours, unjudged):
    # given
    rows = pl.DataFrame({"user": ["ada"] * len(hours), "wasted": hours}, schema_overrides=HOURS)

    # when
    verdict = evaluate(OneView(rows), dataset.plugins, rules=[RULE])

    # then
    assert verdict.found == ()
    assert [text for pair in verdict.unjudged for text in pair] == unjudged
    assert verdict.passed == (() if unjudged else ("test.waste",))


def people(**columns):
    """Rows of the view: by user, the hours that each wasted."""
    return OneView(pl.DataFrame(columns, schema_overrides=HOURS))


def test_what_a_rule_could_not_judge_is_left_out_of_its_number_and_said(dataset):
    # given three users, of whom one wasted much, and of one of whom that is not known
    rows = people(user=["ada", "bob", "tim"], wasted=[7.0, 0.5, None])

    # when
    verdict = evaluate(rows, dataset.plugins, rules=[RULE])

    # then
    (found,) = verdict.found
    assert found.finding.text == "ada wasted 7 h. 1 of 2 rows are over 1 h."
    assert found.certainty == ("part",)
    assert found.certainty_in_words() == (
        "checked 2 of 3 rows of test.wasted; partial data: only rows with the needed values were "
        "checked"
    )
    assert found.caveats() == "2 of 3 rows checked"
    assert found.to_dict()["certainty"] == ["part"]


def test_a_rule_that_found_nothing_among_a_part_names_the_part_and_what_brings_the_rest(dataset):
    # given
    rows = people(user=["bob", "tim"], wasted=[0.5, None])
    rule = attrs.evolve(RULE, unable="the field Wasted brings it")

    # when
    verdict = evaluate(rows, dataset.plugins, rules=[rule])

    # then
    assert (verdict.found, verdict.passed) == ((), ("test.waste",))
    assert verdict.summary() == "No findings. 1 check passed (1 on partial data)."
    assert verdict.gaps() == [
        "Passed in part: test.waste. 1 of 2 rows of test.wasted checked; "
        "the field Wasted brings it."
    ]


@pytest.mark.parametrize(
    ("user", "wasted", "outcome"),
    [
        (["ada", "tim"], [7.0, 9.0], "ada wasted 7 h. 1 of 1 rows are over 1 h."),
        (["tim"], [9.0], "elsewhere"),  # the rule is about nobody here
        ([None], [7.0], "unjudged"),  # who it is, is not known
        (["ada"], [None], "unjudged"),
    ],
)
def test_a_rule_is_about_some_rows_alone(dataset, user, wasted, outcome):
    some = attrs.evolve(RULE, among="\"user\" <> 'tim'")

    verdict = evaluate(people(user=user, wasted=wasted), dataset.plugins, rules=[some])

    (seen,) = [*texts(verdict), *(["elsewhere"] * len(verdict.elsewhere)),
               *(["unjudged"] * len(verdict.unjudged))]  # fmt: skip
    assert seen == outcome
    assert verdict.passed == ()


def test_a_finding_says_in_words_what_makes_it_less_than_certain(dataset):
    def at_least(rows, total, *, hours):
        yield Finding("low", "ada wasted at least 7 h", certainty=("lower_bound", "coarse_clock"))

    rows = people(user=["ada"], wasted=[7.0])

    (found,) = evaluate(rows, dataset.plugins, rules=[attrs.evolve(RULE, judge=at_least)]).found

    assert found.certainty == ("lower_bound", "coarse_clock")
    assert found.certainty_in_words() == (
        "checked the one row of test.wasted; lower bound: the record is incomplete, real numbers "
        "may be higher; coarse clock: some times are whole seconds, their shares may be off"
    )
    assert found.caveats() == "lower bound, coarse clock"
    with pytest.raises(ValueError, match="surely"):
        Finding("low", "It is so", certainty=("surely",))


def test_a_view_that_wants_a_choice_leaves_its_rules_unjudged_until_it_is_made(dataset):
    nothing = dataset.findings(["test.choosy"])
    monday = dataset.findings(["test.choosy"], day="mon")

    assert nothing.unjudged == (("test.choosy", "two days; choose one with day="),)
    assert len(monday.found) == 2
    with pytest.raises(UsageError, match="day: two days; choose one with day="):
        dataset.findings(["test.choosy"], day="never")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2_500_001, "2500001"), (1e18, "1000000000000000000.0"), (1e-7, "0.0000001")],
)
def test_a_threshold_is_compared_with_all_its_digits(value, shown):
    assert RULE.condition({"hours": value}) == f"wasted > {shown}"
    rows = pl.DataFrame({"user": ["a", "b"], "wasted": [float(value), value * 1.000001]})
    assert texts(Verdict(tuple(judge(RULE, rows, hours=value))))[0].startswith("b wasted")


def test_of_several_values_those_that_no_row_has_are_named(dataset):
    # given rows of which one lacks the user, the other the hours
    rows = pl.DataFrame({"user": ["ada", None], "wasted": [None, 2.0]}, schema_overrides=HOURS)
    together = attrs.evolve(RULE, where="wasted > {hours} and \"user\" <> 'tim'")

    # when
    [[rule, why]] = evaluate(OneView(rows), dataset.plugins, rules=[together]).unjudged

    # then
    assert rule == "test.waste"
    assert why == "test.wasted has too few values of user, wasted in 2 rows"


def test_where_no_rule_is_installed_that_is_said_and_not_that_nothing_was_found() -> None:
    assert Verdict().summary() == "No rule is installed."


OURS = [r for r in manager().rules.values() if is_ours(manager().version_of(r).split()[0])]


@pytest.mark.parametrize("rule", OURS, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_compares_whom_it_judges_and_what_it_lacks(rule):
    assert rule.numerator
    assert rule.judged
    assert rule.unable
    # a share is of something, and what it is of is said
    assert rule.denominator or "share" not in rule.thresholds
