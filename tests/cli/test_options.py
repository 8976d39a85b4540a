import click
import pytest

from crucibleforge.cli._options import listed, run_options


@pytest.mark.parametrize(
    ("words", "got"),
    [
        ([], ()),
        (["--x", "a,b"], ("a", "b")),
        (["--x", "a", "--x", "b,c"], ("a", "b", "c")),
        (["--x", " a , ,b,"], ("a", "b")),
        (["--x", ""], ()),
    ],
)
def test_a_list_is_separated_by_commas_or_given_several_times(words, got):
    @click.command
    @listed("--x", "", "LIST")
    def verb(x):
        return x

    assert verb.main(words, standalone_mode=False) == got


def test_run_takes_every_choice_of_cases_models_and_places():
    @click.command
    @run_options
    def verb(**options):
        return options

    assert set(verb.main([], standalone_mode=False)) == {
        "models",
        "categories",
        "difficulty",
        "cases",
        "smoke",
        "profile",
        "form",
        "repeats",
        "max_cost",
        "max_minutes",
        "fresh",
        "plan_only",
        "yes",
        "allow_unsandboxed",
        "results_path",
        "config_path",
        "as_json",
    }


@pytest.mark.parametrize(("value", "waived"), [("1", 1), ("2", 2), ("0", 0), ("", 0)])
def test_the_waiver_may_stand_in_the_environment(monkeypatch, value, waived):
    @click.command
    @run_options
    def verb(**options):
        return options["allow_unsandboxed"]

    monkeypatch.setenv("CRUCIBLEFORGE_ALLOW_UNSANDBOXED", value)
    assert verb.main([], standalone_mode=False) == waived


@pytest.mark.parametrize("times", [0, 1, 2])
def test_the_waiver_is_counted(times):
    @click.command
    @run_options
    def verb(**options):
        return options["allow_unsandboxed"]

    assert verb.main(["--allow-unsandboxed"] * times, standalone_mode=False) == times
