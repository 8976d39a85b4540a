from __future__ import annotations

import pytest

from crucibleforge.graders._vocabulary import VOCABULARY, gauge


def why(text, kind, /, **arguments):
    return gauge(kind, arguments).test(text)


def test_equals_lines_compares_lines_with_anything_on_them():
    assert why("a \n\n  b\n", "equals_lines", lines=["a", "  b"]) == ""
    assert why("a\nc", "equals_lines", lines=["a", "b"]) == 'line 2 is "c", expected "b"'
    assert why("a", "equals_lines", lines=["a", "b"]) == "1 line, expected 2"
    assert why("a\nb\nc", "equals_lines", lines=["a", "b"]) == "3 lines, expected 2"
    assert why("Sure:\na", "equals_lines", lines=["a"]) == 'line 1 is "Sure:", expected "a"'


def test_json_equals_is_strict():
    assert why('```json\n{"a": [1, true]}\n```', "json_equals", value={"a": [1, True]}) == ""
    assert why("null", "json_equals", value=None) == ""
    assert why("a", "json_equals", value=None) == "no JSON in reply"
    for text in ('{"a": true}', '{"a": "1"}', '{"a": 1, "b": 2}', '{"a": 1.0}'):
        assert why(text, "json_equals", value={"a": 1}) == f'got {text}, expected {{"a": 1}}'


def test_counts_of_the_whole_text_have_both_ends():
    assert why("a\n\n \nb\n", "line_count", n=2) == ""
    assert why("a", "line_count", n=2) == "1 line, expected 2"
    assert why("well-kept - don\u2019t", "word_count", min=2, max=2) == ""
    assert why("a", "word_count", min=2) == "1 word, expected at least 2"
    assert why("a b c", "word_count", max=2) == "3 words, expected at most 2"
    assert why("ab\n\ncd ", "char_count", min=4, max=4) == ""
    assert why("abc", "char_count", max=2) == "3 characters, expected at most 2"
    assert why("a,b,", "char_times", char=",", n=2) == ""
    assert why("a", "char_times", char=",", n=2) == "0 x ',', expected 2"
    assert why("a \u0663", "forbids_digits") == "1 digit, expected 0"


def test_lines_are_counted_one_by_one():
    assert why("a b\n\nc d e", "words_per_line", min=2, max=3) == ""
    assert why("a b\nc", "words_per_line", min=2) == "line 2: 1 word, expected at least 2"
    assert why("a b\nc", "line_words", line=2, n=1) == ""
    assert why("a b", "line_words", line=2, n=1) == "0 words in line 2, expected 1"
    assert why("a\nb c\nd e f", "rising_lines") == ""
    assert why("a\nb c\nd e", "rising_lines") == "line 3 has 2 words after 2"
    assert why("abc\nab", "line_length", max=3) == ""
    assert why("ab\nabcd", "line_length", max=3) == "line 2 has 4 characters, expected at most 3"


def test_letters_count_alike_in_both_cases_and_with_accents():
    assert why("A\u00e1\u00c4", "letter_count", letter="a", min=3, max=3) == ""
    assert why("b\u00e9", "forbids_letter", letter="e") == "1 letter e, expected 0"
    assert why("\u00c9t\u00e9\n\u201cbon\u201d", "acrostic", letters="eb") == ""
    assert why("a\n- Tom", "acrostic", letters="ab") == 'the lines begin with "at", expected "ab"'


def test_sizes_of_words_are_their_letters():
    assert why("it's 12345 well-to", "longest_word", max=6) == ""
    assert why("sevenths", "longest_word", max=7) == "a word has 8 letters, expected at most 7"
    assert why("a longer word", "long_words", letters=4, n=1) == ""
    assert why("a longer word", "long_words", letters=3, n=1) == "2 words of more than 3 letters, expected 1"


def test_both_ends_of_the_text_and_of_lines_are_compared_as_they_are():
    assert why("Hi there", "starts_with", text="Hi") == why("Hi there", "ends_with", text="there") == ""
    assert why("hi", "starts_with", text="Hi") == 'starts with "hi", expected "Hi"'
    assert why("Hi there.", "ends_with", text="there") == 'ends with "here.", expected "there"'
    assert why("- a\n\n- b", "line_prefix", text="- ") == ""
    assert why("- a\n* b", "line_prefix", text="- ") == 'line 2 begins with "* ", expected "- "'
    assert why("a; \nb;", "line_suffix", text=";") == ""
    assert why("a;\nb", "line_suffix", text=";") == 'line 2 ends with "b", expected ";"'


def test_case_is_that_of_every_letter():
    assert why("A 1 B!", "uppercase") == why("a 1 b!", "lowercase") == ""
    assert why("A oB", "uppercase") == "oB is not in capitals"
    assert why("a Ob", "lowercase") == "Ob is not in small letters"
    assert why("12", "uppercase") == why("12", "lowercase") == "no letters in reply"
    assert why("A TEN it X-Y 12", "capital_words", n=2) == ""
    assert why("A TEN", "capital_words", n=2) == "1 word in capitals, expected 2"


def test_a_given_word_is_a_whole_word_in_any_case():
    assert why("The CAT sat", "contains_word", word="cat") == why("(cat)", "contains_word", word="Cat") == ""
    for text in ("concatenate", "cats", "cat's", "cat-like"):
        assert why(text, "contains_word", word="cat") == "'cat' is missing"
        assert why(text, "forbids_word", word="cat") == ""
    assert why("Cat!", "forbids_word", word="cat") == "'cat' occurs"
    assert why("'cat' cat cats", "word_times", word="cat", n=2) == ""
    assert why("cat", "word_times", word="cat", n=2) == "'cat' occurs 1 times, expected 2"


def test_words_of_a_list_count_once_each():
    assert why("Ash, oak and ash", "words_from", words=["ash", "oak", "elm"], min=2) == ""
    assert why("ash ash ash", "words_from", words=["ash", "oak"], min=2) == "1 of the given words, expected at least 2"
    assert why("oak ash oak", "word_order", words=["oak", "ash"]) == ""
    assert why("ash oak", "word_order", words=["oak", "ash"]) == "first used in the order ash, oak"
    assert why("oak", "word_order", words=["oak", "ash"]) == "first used in the order oak"


def test_words_have_their_places_in_lines():
    assert (
        why("a\nthe oak.", "line_contains", line=2, word="oak") == why("b\noak!", "line_ends", line=2, word="oak") == ""
    )
    assert why("oak\na", "line_contains", line=2, word="oak") == "'oak' is not in line 2"
    assert why("oak a", "line_ends", line=1, word="oak") == 'the last word of line 1 is "a"'
    assert why("a", "line_ends", line=2, word="a") == "the last word of line 2 is null"


def test_words_repeat_only_where_they_must():
    assert why("an oak is an elm", "no_repeats", least=3) == ""
    assert why("An oak is an elm", "no_repeats") == "an occurs more than once"
    assert why("a oak.\nOak b!\nB", "chained_lines") == ""
    assert why("a b\na", "chained_lines") == 'line 2 begins with "a" after "b"'
    assert why("Oak is oak.", "same_ends") == ""
    assert why("Oak", "same_ends") == ""
    assert why("a b", "same_ends") == 'first and last word are ["a", "b"]'


def test_numbered_lines_are_numbered_in_order():
    assert why("List:\n1. a\n 2) b\n", "numbered_lines", n=2) == ""
    assert why("1. a", "numbered_lines", n=2) == "1 numbered line, expected 2"
    assert why("1. a\n1. b", "numbered_lines", n=2) == "lines are not numbered 1 to 2"
    assert why("1.5 is\n2.\n1. a", "numbered_lines", n=1) == ""


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("line_count", {"n": True}, "True is no whole number from 0 on"),
        ("line_count", {"n": -1}, "-1 is no whole number from 0 on"),
        ("word_count", {"min": 3, "max": 2}, "min 3 is over max 2"),
        ("word_count", {"max": 2.0}, "2.0 is no whole number"),
        ("line_words", {"line": 0, "n": 1}, "0 is no whole number from 1 on"),
        ("contains_word", {"word": "two words"}, "'two words' is not one word"),
        ("contains_word", {"word": ""}, "'' is not one word"),
        ("words_from", {"words": ["a"], "min": 2}, "there are not 2 words"),
        ("words_from", {"words": [], "min": 1}, "a list is due"),
        ("words_from", {"words": "ab", "min": 1}, "a list is due"),
        ("forbids_letter", {"letter": "ab"}, "'ab' is not one letter"),
        ("acrostic", {"letters": "A"}, "'A' is not made of small letters"),
        ("char_times", {"char": "a", "n": 1}, "'a' is no mark"),
        ("ends_with", {"text": " "}, "' ' is no text"),
        ("longest_word", {"max": 0}, "0 is no whole number from 1 on"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(kind, arguments, message):
    with pytest.raises(ValueError, match=f"check '{kind}': {message}"):
        gauge(kind, arguments)


def test_every_type_is_asked_for_by_its_own_name():
    for kind, maker in VOCABULARY.items():
        assert maker.__name__ == f"_{kind}"
