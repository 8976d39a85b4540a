from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucibleforge.extract.number import number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1729", "1729"),
        ("+1729", "1729"),
        ("-1729", "-1729"),
        ("- 1729", "-1729"),
        ("\u22121729", "-1729"),
        ("\u20131729", "-1729"),
        ("007", "7"),
        ("1,729", "1729"),
        ("1_234_567", "1234567"),
        ("1'234'567", "1234567"),
        ("1 234 567", "1234567"),
        ("1\u202f729", "1729"),
        ("1{,}729", "1729"),
        ("1\\,729", "1729"),
        ("12,345.50", "12345.5"),
        ("1729.0", "1729"),
        (".75", "3/4"),
        ("5.", "5"),
        ("1.729", "1.729"),
        ("1.729e3", "1729"),
        ("5E-2", "1/20"),
        ("1.729 \\times 10^{3}", "1729"),
        ("2\u00d710^-3", "1/500"),
        ("3/4", "3/4"),
        ("-6 / 8", "-3/4"),
        ("\\frac{3}{4}", "3/4"),
        ("-\\dfrac{3}{4}", "-3/4"),
        ("x = 5", "5"),
        ("x_1=-1/2", "-1/2"),
        ("x = y = 5", "5"),
        ("Total crates = 5", "5"),
        ("f(3) = 5", "5"),
        ("12*144 + 1 = 1729", "1729"),
        ("\\binom{6}{2} = 15", "15"),
        ("= 5", "5"),
        ("10/3 \u2248 3.33", "10/3"),
        ("\u2248 3.33", "3.33"),
        ("exactly 5", "5"),
        ("0,75", "3/4"),
        ("0,123", "0.123"),
        ("1,72", "1.72"),
        ("1.729,50", "1729.5"),
        ("12,34,567", "1234567"),
        ("1.234.567", "1234567"),
        ("1,\\!729", "1729"),
        ("1 3/4", "7/4"),
        ("-1 3/4", "-7/4"),
        ("1\u00be", "7/4"),
        ("1 \u00be", "7/4"),
        ("2\\frac{1}{2}", "5/2"),
        ("\\frac34", "3/4"),
        ("2^10", "1024"),
        ("2^{10}", "1024"),
        ("2**10", "1024"),
        ("10\u00b2", "100"),
        ("3\u00b710\u2074", "30000"),
        ("1024 (= 2^10)", "1024"),
        ("5 (mod 7)", "5"),
        ("5 [counting Ada]", "5"),
        ("12th", "12"),
        ("minus forty-two", "-42"),
        ("negative 42", "-42"),
    ],
)
def test_a_number_is_read_exactly(text, value):
    assert number(text) == Fraction(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        ".",
        ",",
        ",/,",
        "abc",
        "5 or 6",
        "5, 6",
        "5-6",
        "5\u20136",
        "12 34",
        "1,234_567",
        "3/0",
        "--5",
        "5%",
        "5 apples",
        "e5",
        "1e",
        "1e9999",
        "2\u00d710^{3",
        "x =",
        "0x10",
        "inf",
        "nan",
        "True",
        "\u0661",
        "1" * 401,
        ",75",
        "1 7/4",
        "5 = 6",
        "5 or 6 = 6",
        "2^10 = 1025",
        "1024 (= 2^11)",
        "5 (or 6)",
        "5 (6)",
        "between 5 and 6",
        "5 \u00b1 1",
        "five six",
        "5 + 6",
        "9^9999",
        "2^-1",
        "\\frac{1}{0}",
        "= = =",
        "x = 1" * 20,
    ],
)
def test_what_is_not_one_whole_number_is_none(text):
    assert number(text) is None


@pytest.mark.parametrize("text", ["5 crates", "5 crate", "5 CRATES", "$5", "5$", "5 m", "5m", "$ 5"])
def test_a_declared_unit_may_stand_on_either_side(text):
    assert number(text, units=["crate", "$", "m"]) == 5
    assert number(text) is None


@pytest.mark.parametrize("text", ["5 boxes", "5 ms", "5 crates m", "crates", "$5$", "5 m 3"])
def test_no_other_unit_may(text):
    assert number(text, units=["crate", "$", "m"]) is None


def test_a_sign_may_stand_on_either_side_of_a_unit():
    assert number("-$6", units=["$"]) == number("$-6", units=["$"]) == -6


@pytest.mark.parametrize("text", ["25%", "25 %", "25\\%", "25 percent", "25"])
def test_a_percent_sign_counts_only_where_it_is_declared(text):
    assert number(text, percent=True) == 25
    assert text == "25" or number(text) is None


@pytest.mark.slow
@given(st.fractions(max_denominator=10**9))
def test_a_fraction_survives_being_written(value):
    assert number(str(value)) == value


@given(st.integers())
def test_grouped_integers_are_read(value):
    assert number(f"{value:,}") == number(f"{value:_}") == number(f"{value:,}".replace(",", " ")) == value


@given(st.text(alphabet="0123456789.,_' /eE+-x=\\{}frac^*", max_size=450) | st.text())
def test_any_text_is_a_number_or_none(text):
    assert number(text) is None or isinstance(number(text), Fraction)


@pytest.mark.parametrize(
    "text", ["1,111" * 80, "1" * 400, "1e999", "9.9e-999", "1/" + "0" * 398, "1,111" + ",111" * 98 + "x"]
)
def test_long_digits_do_not_raise(text):
    number(text)
