"""A session: what a recipe chooses is listed, and committed, once or again and again."""

import pytest
from datasets import SETTINGS, Small, dump

import harvest
from harvest.recipes.recipe import Endpoint


@pytest.fixture
def small(tmp_path):
    return Small(tmp_path).write(a=dump(1, 2), b=dump(3))


@pytest.fixture
def session(small):
    name, _, location = small.sink.partition(":")
    return harvest.Session(
        harvest.Recipe(
            sources=(Endpoint("slurm", str(small.inputs)),),
            sinks=(Endpoint(name, location),),
            settings=SETTINGS,
            workers=1,
        )
    )


def test_a_session_commits_what_is_new_each_time(session, small):
    first = session.commit(session.list())
    again = session.commit(session.list())
    small.write(c=dump(4))
    more = session.commit(session.list())

    assert [part.partition for part in first.parts] == ["a.txt", "b.txt"]
    assert again.run is None
    assert [part.partition for part in more.parts] == ["c.txt"]
    assert session.runs() == [(first.run, more.run)]


def test_what_is_not_ready_waits_and_is_not_dropped(session, small):
    session.commit(session.list())
    small.write(a=dump(1, 2, 5), b=dump(6))
    late = str(small.inputs / "a.txt")

    result = session.commit(session.list(), ready=lambda each: late not in each.inputs)

    assert [part.partition for part in result.parts] == ["b.txt"]
    assert sorted(small.jobs()) == [1, 2, 6]


def test_a_listing_of_some_files_leaves_the_others_as_they_are(session, small):
    session.commit(session.list())
    small.write(a=dump(7), b=dump(8))

    listing = session.list([str(small.inputs / "b.txt")])
    result = session.commit(listing)

    assert [partition.id for partition in listing.partitions] == ["b.txt"]
    assert result.inputs(planned=True) == {str(small.inputs / "b.txt")}
    assert sorted(small.jobs()) == [1, 2, 8]


def test_a_source_that_cannot_list_is_left_out_where_the_others_go_on(session, small):
    listing = session.list()
    small.inputs.rename(small.folder / "away")

    with pytest.raises(harvest.SourceError):
        session.list()
    ((source, error),) = session.list(go_on=True).failures

    assert len(listing.partitions) == 2
    assert (source.name, type(error)) == ("slurm", harvest.SourceError)


def test_inputs_of_a_result_are_told_by_what_became_of_them(session, small):
    small.write(bad="no dump at all\n")

    result = session.commit(session.list())

    assert result.inputs(failed=True) == {str(small.inputs / "bad.txt")}
    assert result.inputs(changed=True) == set()
    assert len(result.inputs(planned=True)) == 3


def test_a_listing_is_made_anew_where_another_run_was_first(session, small):
    listing = session.list()
    small.write(c=dump(4))
    session.commit(session.list())
    small.write(d=dump(5))

    result = session.commit(listing)

    assert [part.partition for part in result.parts] == ["d.txt"]


def test_check_finds_what_would_stop_a_run(session, small):
    session.check()
    unknown = harvest.Recipe(sources=session.recipe.sources, sinks=session.recipe.sinks, engine="x")

    with pytest.raises(harvest.UsageError, match="unknown engine 'x'"):
        harvest.Session(unknown).check()
