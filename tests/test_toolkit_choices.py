"""An error where a name is to be chosen says which there are: in words, and for a form."""

import pickle

from harvest_toolkit.choices import SHOWN, ChoiceNeeded, choice_of_runs


def test_runs_to_choose_from_are_named_by_their_directories():
    error = choice_of_runs("2 runs", "choose with run=NAME", ["/a/R1", "/a/R2"], ["run"])

    assert isinstance(error, ChoiceNeeded)
    assert str(error) == "2 runs; choose with run=NAME: R1, R2"
    assert (error.settings, error.names) == (("run",), ("R1", "R2"))

    # runs of one name are named by their whole paths
    error = choice_of_runs("2 runs", "choose", ["/a/R1", "/b/R1"], ["before", "after"])

    assert (error.settings, error.names) == (("before", "after"), ("/a/R1", "/b/R1"))


def test_all_names_are_there_though_the_words_name_the_first():
    runs = [f"/a/R{number:03}" for number in range(SHOWN + 5)]

    error = choice_of_runs("15 runs", "choose", runs, ["run"])

    assert error.names == tuple(run[3:] for run in runs)
    assert str(error).endswith("R009 and 5 more")
    # the words reach another process
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
