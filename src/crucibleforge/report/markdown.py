"""The board as Markdown: alarms, scoreboard, categories, tokens and cost, every failure with its reason."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from crucibleforge.report.scorecard import Board, CategoryScore, FailedRow, Overall, Part, Rate, Scorecard

_FOOTNOTE = """\
Overall and Coding are the delivered score: passes over all counted rows, what you get at this budget. When answered
is the same over the rows that brought an answer (`same`: all did; `-`: a category has none). Lost is the share that
was cut off or left empty.

Overall is the mean of the category rates in percent (weights: {weights}), with a 95% interval
(MOVER over the Wilson intervals of the categories); intervals take cases as independent. Models whose intervals
overlap are not told apart by these runs. tok/s is the median decode rate over n replies, by the server's token counts.
Scores compare only within one suite revision."""
_TOKENS_NOTE = """\
By the servers' own counts, over every billed reply of the rows above, those lost to reasoning included. Cached is part
of Prompt, Reasoning of Completion; `-`: not counted."""
_MARKS = str.maketrans({"\\": "\\\\", "<": "&lt;", "[": "\\[", "|": "\\|", "`": "'", "*": "\\*"})
# Below this, a cent hides the amount.
_SMALL_USD = 1.0


def rendered(board: Board) -> str:
    """The whole of report.md."""
    if not board.cards:
        return "# CrucibleForge report\n\nNo results yet. `crucibleforge all` makes some.\n"
    parts = [
        "# CrucibleForge report",
        f"Generated {board.generated}.",
        *_alarms(board),
        "## Scoreboard",
        _table(*scoreboard(board)),
        _FOOTNOTE.format(weights=_weights(board.cards[0].categories)),
        "## Categories",
        _table(*categories(board)),
        "## Tokens and cost",
        _table(*tokens(board)),
        _TOKENS_NOTE,
        "## Failures",
        *(_failures(card) for card in board.cards),
    ]
    return "\n\n".join(parts) + "\n"


def scoreboard(board: Board) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the scoreboard, one line a model; the notes come last."""
    header = ["#", "Model", "Overall", "Coding", "When answered", "Lost", "tok/s", "Suite", "Notes"]
    rank, rows = 0, []
    for card in board.cards:
        rank += card.overall is not None
        coding = next((score.rate for score in card.categories if score.name == "coding"), None)
        rows.append(
            [
                str(rank) if card.overall else "-",
                card.label,
                "INVALID" if card.invalid else _overall(card.overall),
                "-" if card.invalid else rate(coding),
                _when_answered(card),
                _lost(card.lost),
                _speed(card),
                card.revision,
                "; ".join(card.notes),
            ]
        )
    return header, rows


def categories(board: Board) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the categories, one line a model and category."""
    header = ["Model", "Category", "Passed", "95% interval", "When answered", "its interval", "Lost", "Recovered"]
    return header, [[card.label, *_category(card, score)] for card in board.cards for score in card.categories]


def tokens(board: Board) -> tuple[list[str], list[list[str]]]:
    """Header and cells of what each model's replies took."""
    header = ["Model", "Replies", "Uncounted", "Prompt", "Cached", "Completion", "Reasoning", "Cost", "Price"]
    rows = [
        [
            card.label,
            f"{card.replies:,}",
            f"{card.uncounted:,}",
            f"{card.prompt_tokens:,}",
            _count(card.cached_tokens),
            f"{card.completion_tokens:,}",
            _count(card.reasoning_tokens),
            _cost(card),
            _price(card),
        ]
        for card in board.cards
    ]
    return header, rows


def rate(of: Rate | None) -> str:
    """`89% (54/61)`, or `-` where there is nothing to divide by."""
    if of is None or of.total == 0:
        return "-"
    return f"{100 * of.passed / of.total:.0f}% ({of.passed}/{of.total})"


def plain(text: str) -> str:
    """One line of text of unknown origin, without control characters that a terminal or page would obey."""
    return " ".join("".join(" " if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co"} else c for c in text).split())


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return plain(text).translate(_MARKS)


def _alarms(board: Board) -> Iterable[str]:
    if board.alarms:
        yield "## Alarms"
        yield "\n".join(f"- **{_cell(alarm.label)}**: {_cell(alarm.text)}" for alarm in board.alarms)


def _category(card: Scorecard, score: CategoryScore) -> list[str]:
    name = score.name + ("" if score.weight else " (not counted)")
    passed = ["INVALID", "-"] if card.invalid else [rate(score.rate), _interval(score.rate)]
    answered = ["same", "same"] if _is_same(score) else [rate(score.when_answered), _interval(score.when_answered)]
    if not score.rate.total:
        answered = ["-", "-"]
    return [name, *passed, *answered, _lost(score.lost), str(score.recovered or "-")]


def _failures(card: Scorecard) -> str:
    if not card.failures:
        return f"### {_cell(card.label)}\n\nNone."
    lines = [
        f"- {_cell(failed.case_id)}{f' (repeat {failed.repeat})' if failed.repeat > 1 else ''}: {_reason(failed)}"
        for failed in card.failures
    ]
    return f"### {_cell(card.label)}\n\n" + "\n".join(lines)


def _reason(failed: FailedRow) -> str:
    """The grader's words; with the outcome before them where they do not tell it, and the seed of hidden inputs."""
    why = (_cell(failed.why) or "no reason given") + (f" (seed {_cell(failed.seed)})" if failed.seed else "")
    return why if failed.outcome in {"fail", "truncated"} else f"{failed.outcome}: {why}"


def _overall(total: Overall | None) -> str:
    return "-" if total is None else f"{total.percent:.1f} ({total.low:.1f} to {total.high:.1f})"


def _when_answered(card: Scorecard) -> str:
    is_same = card.overall is not None and all(_is_same(score) for score in card.categories)
    return "same" if is_same else _overall(card.when_answered)


def _is_same(score: CategoryScore) -> bool:
    return score.when_answered.total == score.rate.total


def _lost(part: Part) -> str:
    if part.total == 0:
        return "-"
    return f"{100 * part.count / part.total:.0f}% ({part.count}/{part.total})" if part.count else "none"


def _interval(of: Rate) -> str:
    return "-" if of.low is None or of.high is None else f"{100 * of.low:.0f}% to {100 * of.high:.0f}%"


def _speed(card: Scorecard) -> str:
    return "-" if card.speed is None else f"{card.speed.tok_per_s:.1f} (n={card.speed.n})"


def _count(of: int | None) -> str:
    return "-" if of is None else f"{of:,}"


def _cost(card: Scorecard) -> str:
    """In dollars; `-` for a model that never had a price."""
    if card.cost_usd is None:
        return "unknown" if card.price else "-"
    return f"${card.cost_usd:.4f}" if card.cost_usd < _SMALL_USD else f"${card.cost_usd:,.2f}"


def _price(card: Scorecard) -> str:
    if card.price is None:
        return "-"
    return f"${card.price.input:g} in, ${card.price.output:g} out per million ({card.price.source})"


def _weights(scores: Sequence[CategoryScore]) -> str:
    return ", ".join(f"{score.name} {score.weight:g}" for score in scores)
