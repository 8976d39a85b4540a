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
        "1,72",
        "1,7290",
        "1,234_567",
        "0,123",
        "0,75",
        "12,34,567",
        "1.234.567",
        "1 3/4",
        "3/0",
        "--5",
        "5%",
        "5 apples",
        "e5",
        "1e",
        "1e9999",
        "2\u00d710^{3",
        "x = y = 5",
        "x =",
        "0x10",
        "inf",
        "nan",
        "True",
        "\u0661",
        "10\u00b2",
        "1" * 401,
    ],
)
def test_what_is_not_one_whole_number_is_none(text):
    assert number(text) is None


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
