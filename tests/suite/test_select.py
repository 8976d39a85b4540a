import pytest
from adding import ADDING, DOUBLING

from crucibleforge.errors import InputError, UnknownName
from crucibleforge.families._build import cases
from crucibleforge.suite.select import select
from crucibleforge.types import Selection

SUITE = (*cases(DOUBLING), *cases(ADDING))


def chosen(**fields: object) -> list[str]:
    return [case.id for case in select(SUITE, Selection(**fields))]


def test_nothing_said_means_all_but_the_reserve_in_order():
    assert chosen() == [case.id for case in SUITE if case.level != "reserve"]


def test_each_filter_narrows():
    found = chosen(categories=("math",), difficulty=("hard", "easy"))
    assert found == ["math/adding/L1.1", "math/adding/L3.1", "math/adding/L4.1"]


def test_the_reserve_is_meant_when_it_is_named():
    assert chosen(difficulty=("reserve",)) == ["coding/doubling/L5.1", "math/adding/L5.1"]
    assert chosen(cases=("math/adding/L5.1",)) == ["math/adding/L5.1"]


def test_a_case_is_named_by_id_family_or_pattern():
    assert chosen(cases=("math/adding/L2.1",)) == ["math/adding/L2.1"]
    assert chosen(cases=("coding/doubling",)) == [f"coding/doubling/L{rung}.1" for rung in range(1, 6)]
    assert chosen(cases=("*/L2.?",)) == ["coding/doubling/L2.1", "math/adding/L2.1"]


def test_smoke_is_the_smoke_cases():
    assert chosen(smoke=True) == ["coding/doubling/L1.1", "math/adding/L1.1"]


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
