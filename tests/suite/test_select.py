import pytest

from crucibleforge.errors import InputError, UnknownName
from crucibleforge.suite.expand import suite
from crucibleforge.suite.select import select
from crucibleforge.types import Selection


def chosen(**fields: object) -> tuple:
    return select(suite(), Selection(**fields))


def test_nothing_said_means_all_in_order():
    assert chosen() == suite()


def test_each_filter_narrows():
    found = chosen(categories=("math", "coding"), difficulty=("hard",))
    assert {(case.category, case.level) for case in found} == {("math", "hard"), ("coding", "hard")}


def test_a_case_is_named_by_id_family_or_pattern():
    one = suite()[0]
    assert chosen(cases=(one.id,)) == (one,)
    assert {case.family for case in chosen(cases=(one.family,))} == {one.family}
    assert {case.level for case in chosen(cases=("*/easy.*",))} == {"easy"}


def test_smoke_is_the_smoke_cases():
    assert chosen(smoke=True) == tuple(case for case in suite() if case.smoke)


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        ({"categories": ("maths",)}, "unknown category 'maths'", "did you mean `math`?"),
        ({"difficulty": ("hart",)}, "unknown difficulty 'hart'", "did you mean `hard`?"),
        ({"cases": ("nonsense*",)}, "unknown case 'nonsense*'", "`crucibleforge cases list`"),
    ],
)
def test_what_does_not_exist_is_refused_with_the_nearest(fields, message, hint):
    with pytest.raises(UnknownName) as caught:
        chosen(**fields)
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_filters_that_have_nothing_in_common_are_refused():
    with pytest.raises(InputError, match="no case fits all of the filters"):
        chosen(categories=("math",), cases=("coding/*",))
