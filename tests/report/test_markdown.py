import msgspec
import pytest

from crucibleforge.report.markdown import plain, rate, rendered, scoreboard, tokens
from crucibleforge.report.scorecard import Alarm, Board, CategoryScore, FailedRow, Overall, Part, Rate, Scorecard, Speed
from crucibleforge.types import Price

CARD = Scorecard(
    label="my-model",
    model_id="x",
    invalid="",
    overall=Overall(66.66, 50.0, 80.04),
    when_answered=Overall(70.0, 55.5, 85.0),
    lost=Part(2, 63),
    recovered=1,
    categories=(
        CategoryScore("coding", Rate(54, 61, 0.7816, 0.9433), Rate(54, 59, 0.8164, 0.9634), Part(2, 61), 1, 1.0),
        CategoryScore("chat", Rate(1, 2, 0.1, 0.9), Rate(1, 2, 0.1, 0.9), Part(0, 2), 0, 0.0),
    ),
    speed=Speed(84.21, 40, True),
    revision="1.0.0+abcdef01",
    settled=63,
    planned=63,
    skipped=0,
    errors=0,
    replies=64,
    uncounted=1,
    prompt_tokens=12_345,
    cached_tokens=None,
    completion_tokens=67_890,
    reasoning_tokens=60_000,
    cost_usd=0.01234,
    price=Price(0.15, 0.6, "price list of May"),
    notes=("2 truncated",),
    failures=(
        FailedRow("coding/f/L3.1", 1, "truncated", "TRUNCATED at 4096 tokens (4096 reasoning tokens); no code in reply"),
        FailedRow("tooluse/g/L1.2", 2, "fail", "1 call, expected 3"),
        FailedRow("coding/f/L1.1", 1, "error", "the server answered HTTP 500: oops (3 tries)"),
    ),
)


ALARM = Alarm("my-model", "cut_off", "38% of replies were cut off")


def test_the_report_reads_as_it_should():
    assert rendered(Board("2026-01-01T00:00:00Z", "r", (CARD,), (ALARM,))) == """\
# CrucibleForge report

Generated 2026-01-01T00:00:00Z.

## Alarms

- **my-model**: 38% of replies were cut off

## Scoreboard

| # | Model | Overall | Coding | When answered | Lost | tok/s | Suite | Notes |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 1 | my-model | 66.7 (50.0 to 80.0) | 89% (54/61) | 70.0 (55.5 to 85.0) | 3% (2/63) | 84.2 (n=40) | 1.0.0+abcdef01 | 2 truncated |

Overall and Coding are the delivered score: passes over all counted rows, what you get at this budget. When answered
is the same over the rows that brought an answer (`same`: all did; `-`: a category has none). Lost is the share that
was cut off or left empty.

Overall is the mean of the category rates in percent (weights: coding 1, chat 0), with a 95% interval
(MOVER over the Wilson intervals of the categories); intervals take cases as independent. Models whose intervals
overlap are not told apart by these runs. tok/s is the median decode rate over n replies, by the server's token counts.
Scores compare only within one suite revision.

## Categories

| Model | Category | Passed | 95% interval | When answered | its interval | Lost | Recovered |
| --- | --- | --- | --- | --- | --- | --- | --- |
| my-model | coding | 89% (54/61) | 78% to 94% | 92% (54/59) | 82% to 96% | 3% (2/61) | 1 |
| my-model | chat (not counted) | 50% (1/2) | 10% to 90% | same | same | none | - |

## Tokens and cost

| Model | Replies | Uncounted | Prompt | Cached | Completion | Reasoning | Cost | Price |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| my-model | 64 | 1 | 12,345 | - | 67,890 | 60,000 | $0.0123 | $0.15 in, $0.6 out per million (price list of May) |

By the servers' own counts, over every billed reply of the rows above, those lost to reasoning included. Cached is part
of Prompt, Reasoning of Completion; `-`: not counted.

## Failures

### my-model

- coding/f/L3.1: TRUNCATED at 4096 tokens (4096 reasoning tokens); no code in reply
- tooluse/g/L1.2 (repeat 2): 1 call, expected 3
- coding/f/L1.1: error: the server answered HTTP 500: oops (3 tries)
"""


def test_without_results_it_says_how_to_get_some():
    assert "`crucibleforge all` makes some" in rendered(Board("now", "", ()))


def test_a_model_that_failed_nothing_says_so():
    card = msgspec.structs.replace(CARD, failures=())
    assert rendered(Board("now", "", (card,))).endswith("### my-model\n\nNone.\n")


@pytest.mark.parametrize(("of", "text"), [(Rate(0, 0, None, None), "-"), (None, "-"), (Rate(1, 3, 0.0, 1.0), "33% (1/3)")])
def test_a_rate_shows_its_counts(of, text):
    assert rate(of) == text


def test_a_failure_by_hidden_inputs_tells_their_seed():
    failed = FailedRow("c/f/L1.1", 1, "fail", "f(1) gave 2, expected 3", "ab12")
    card = msgspec.structs.replace(CARD, failures=(failed, msgspec.structs.replace(failed, seed="`<x>")))
    assert rendered(Board("now", "", (card,))).splitlines()[-2:] == [
        "- c/f/L1.1: f(1) gave 2, expected 3 (seed ab12)",
        "- c/f/L1.1: f(1) gave 2, expected 3 (seed '&lt;x>)",
    ]


def test_hostile_words_cannot_leave_their_cell():
    nasty = "a|b\n# c <script>alert(1)</script> [x](javascript:1) `y` \x1b[31m \u202e *z*"
    card = msgspec.structs.replace(CARD, failures=(FailedRow("c/f/L1.1", 1, "fail", nasty),))
    line = rendered(Board("now", "", (card,))).splitlines()[-1]
    assert line == "- c/f/L1.1: a\\|b # c &lt;script>alert(1)&lt;/script> \\[x](javascript:1) 'y' \\[31m \\*z\\*"


def test_a_backslash_before_a_mark_does_not_free_it():
    card = msgspec.structs.replace(CARD, failures=(FailedRow("c/f/L1.1", 1, "fail", "\\[x](y)"),))
    assert rendered(Board("now", "", (card,))).splitlines()[-1] == "- c/f/L1.1: \\\\\\[x](y)"


def test_plain_leaves_letters_of_every_language():
    assert plain("Größe 数 café") == "Größe 数 café"


def cells(card, table=scoreboard):
    header, rows = table(Board("now", "", (card,)))
    return dict(zip(header, rows[0], strict=True))


def test_an_invalid_model_shows_no_rate_anywhere():
    none = CategoryScore("coding", Rate(0, 61, 0.0, 0.06), Rate(0, 0, None, None), Part(61, 61), 0, 1.0)
    card = msgspec.structs.replace(
        CARD, invalid="every reply was cut off", overall=None, when_answered=None, lost=Part(61, 61), categories=(none,)
    )
    found = cells(card)
    assert [found[name] for name in ("#", "Overall", "Coding", "When answered", "Lost")] == [
        "-",
        "INVALID",
        "-",
        "-",
        "100% (61/61)",
    ]
    assert "| my-model | coding | INVALID | - | - | - | 100% (61/61) | - |" in rendered(Board("now", "", (card,)))


def test_where_nothing_was_lost_the_second_number_is_the_same():
    whole = (CARD.categories[1],)
    found = cells(msgspec.structs.replace(CARD, lost=Part(0, 2), categories=whole))
    assert (found["When answered"], found["Lost"]) == ("same", "none")


def test_a_partial_model_has_neither_number():
    card = msgspec.structs.replace(CARD, overall=None, when_answered=None)
    assert (cells(card)["Overall"], cells(card)["When answered"]) == ("-", "-")


@pytest.mark.parametrize(
    ("cost", "price", "text"),
    [
        (0.01234, CARD.price, "$0.0123"),
        (1234.5, CARD.price, "$1,234.50"),
        (0.0, CARD.price, "$0.0000"),
        (None, CARD.price, "unknown"),
        (None, None, "-"),
    ],
)
def test_a_cost_is_told_or_said_to_be_unknown(cost, price, text):
    assert cells(msgspec.structs.replace(CARD, cost_usd=cost, price=price), tokens)["Cost"] == text


def test_hostile_words_in_an_alarm_or_a_note_stay_in_their_line():
    nasty = "a|b\n# c <script> \x1b[31m"
    card = msgspec.structs.replace(CARD, label="m", notes=(nasty,))
    text = rendered(Board("now", "", (card,), (Alarm(nasty, "cut_off", nasty),)))
    assert "- **a\\|b # c &lt;script> \\[31m**: a\\|b # c &lt;script> \\[31m\n" in text
    assert not any(line.startswith("# c") for line in text.splitlines())
