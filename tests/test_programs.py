import msgspec
import pytest

from crucibleforge.programs import Limits, Program, Raised, Returned
from crucibleforge.types import Case


@pytest.mark.parametrize("result", [Returned([1, None]), Raised("ValueError", "no")])
def test_a_result_survives_json(result):
    assert msgspec.json.decode(msgspec.json.encode(result), type=Returned | Raised) == result


def test_a_program_has_no_place_for_an_answer():
    assert Program.__struct_fields__ == (
        "source",
        "entry",
        "calls",
        "form",
        "containers",
        "scratch",
        "reference",
    )
    assert not set(Program.__struct_fields__) & set(Case.__struct_fields__)


def test_every_bound_is_set_unless_said_otherwise():
    assert all(getattr(Limits(), name) > 0 for name in Limits.__struct_fields__)
