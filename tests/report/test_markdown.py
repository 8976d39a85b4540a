import pytest

from crucibleforge.report.markdown import plain, rate, rendered
from crucibleforge.report.scorecard import Board, CategoryScore, FailedRow, Overall, Rate, Scorecard, Speed

CARD = Scorecard(
    label="my-model",
    model_id="x",
    overall=Overall(66.66, 50.0, 80.04),
    categories=(
        CategoryScore("coding", Rate(54, 61, 0.7816, 0.9433), 1.0),
        CategoryScore("chat", Rate(1, 2, 0.1, 0.9), 0.0),
    ),
    speed=Speed(84.21, 40, True),
    revision="1.0.0+abcdef01",
    settled=63,
    planned=63,
    skipped=0,
    errors=0,
    prompt_tokens=1,
    completion_tokens=1,
    cost_usd=None,
    notes=("2 truncated",),
    failures=(
        FailedRow("coding/f/hard.1", 1, "truncated", "TRUNCATED at 4096 tokens (4096 reasoning tokens); no code in reply"),
        FailedRow("tooluse/g/easy.2", 2, "fail", "1 call, expected 3"),
        FailedRow("coding/f/easy.1", 1, "error", "the server answered HTTP 500: oops (3 tries)"),
    ),
)


def test_the_report_reads_as_it_should():
    assert rendered(Board("2026-01-01T00:00:00Z", "r", (CARD,))) == """\
# CrucibleForge report

Generated 2026-01-01T00:00:00Z.

## Scoreboard

| # | Model | Overall | Coding | tok/s | Suite | Notes |
| --- | --- | --- | --- | --- | --- | --- |
| 1 | my-model | 66.7 (50.0 to 80.0) | 89% (54/61) | 84.2 (n=40) | 1.0.0+abcdef01 | 2 truncated |

Overall is the mean of the category rates in percent (weights: coding 1, chat 0), with a 95% interval (MOVER over the
Wilson intervals of the categories); intervals take cases as independent. Models whose intervals overlap are not told
apart by these runs. tok/s is the median decode rate over n replies, by the server's token counts. Scores compare only
within one suite revision.

## Categories

| Model | Category | Passed | 95% interval |
| --- | --- | --- | --- |
| my-model | coding | 89% (54/61) | 78% to 94% |
| my-model | chat (not counted) | 50% (1/2) | 10% to 90% |

## Failures

### my-model

- coding/f/hard.1: TRUNCATED at 4096 tokens (4096 reasoning tokens); no code in reply
- tooluse/g/easy.2 (repeat 2): 1 call, expected 3
- coding/f/easy.1: error: the server answered HTTP 500: oops (3 tries)
"""


def test_without_results_it_says_how_to_get_some():
    assert "`crucibleforge all` makes some" in rendered(Board("now", "", ()))


def test_a_model_that_failed_nothing_says_so():
    card = Scorecard(**{name: getattr(CARD, name) for name in CARD.__struct_fields__} | {"failures": ()})
    assert rendered(Board("now", "", (card,))).endswith("### my-model\n\nNone.\n")


@pytest.mark.parametrize(("of", "text"), [(Rate(0, 0, None, None), "-"), (None, "-"), (Rate(1, 3, 0.0, 1.0), "33% (1/3)")])
def test_a_rate_shows_its_counts(of, text):
    assert rate(of) == text


def test_hostile_words_cannot_leave_their_cell():
    nasty = "a|b\n# c <script>alert(1)</script> [x](javascript:1) `y` \x1b[31m \u202e *z*"
    card = Scorecard(
        **{name: getattr(CARD, name) for name in CARD.__struct_fields__}
        | {"failures": (FailedRow("c/f/easy.1", 1, "fail", nasty),)}
    )
    line = rendered(Board("now", "", (card,))).splitlines()[-1]
    assert line == "- c/f/easy.1: a\\|b # c &lt;script>alert(1)&lt;/script> \\[x](javascript:1) 'y' \\[31m \\*z\\*"


def test_plain_leaves_letters_of_every_language():
    assert plain("Größe 数 café") == "Größe 数 café"
