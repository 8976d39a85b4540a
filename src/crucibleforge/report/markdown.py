"""The board as Markdown: scoreboard, categories, every failure with its reason."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from crucibleforge.report.scorecard import Board, CategoryScore, FailedRow, Rate, Scorecard

_FOOTNOTE = """\
Overall is the mean of the category rates in percent (weights: {weights}), with a 95% interval (MOVER over the
Wilson intervals of the categories); intervals take cases as independent. Models whose intervals overlap are not told
apart by these runs. tok/s is the median decode rate over n replies, by the server's token counts. Scores compare only
within one suite revision."""
_MARKS = str.maketrans({"\\": "\\\\", "<": "&lt;", "[": "\\[", "|": "\\|", "`": "'", "*": "\\*"})


def rendered(board: Board) -> str:
    """The whole of report.md."""
    if not board.cards:
        return "# CrucibleForge report\n\nNo results yet. `crucibleforge all` makes some.\n"
    parts = [
        "# CrucibleForge report",
        f"Generated {board.generated}.",
        "## Scoreboard",
        _table(*scoreboard(board)),
        _FOOTNOTE.format(weights=_weights(board.cards[0].categories)),
        "## Categories",
        _table(*categories(board)),
        "## Failures",
        *(_failures(card) for card in board.cards),
    ]
    return "\n\n".join(parts) + "\n"


def scoreboard(board: Board) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the scoreboard, one line a model."""
    header = ["#", "Model", "Overall", "Coding", "tok/s", "Suite", "Notes"]
    rank, rows = 0, []
    for card in board.cards:
        rank += card.overall is not None
        coding = next((score.rate for score in card.categories if score.name == "coding"), None)
        place = str(rank) if card.overall else "-"
        rows.append(
            [place, card.label, _overall(card), rate(coding), _speed(card), card.revision, "; ".join(card.notes)]
        )
    return header, rows


def categories(board: Board) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the categories, one line a model and category."""
    rows = [
        [card.label, score.name + ("" if score.weight else " (not counted)"), rate(score.rate), _interval(score.rate)]
        for card in board.cards
        for score in card.categories
    ]
    return ["Model", "Category", "Passed", "95% interval"], rows


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


def _failures(card: Scorecard) -> str:
    if not card.failures:
        return f"### {_cell(card.label)}\n\nNone."
    lines = [
        f"- {_cell(failed.case_id)}{f' (repeat {failed.repeat})' if failed.repeat > 1 else ''}: {_reason(failed)}"
        for failed in card.failures
    ]
    return f"### {_cell(card.label)}\n\n" + "\n".join(lines)


def _reason(failed: FailedRow) -> str:
    """The grader's words; with the outcome before them where they do not tell it."""
    why = _cell(failed.why) or "no reason given"
    return why if failed.outcome in {"fail", "truncated"} else f"{failed.outcome}: {why}"


def _overall(card: Scorecard) -> str:
    if card.overall is None:
        return "-"
    total = card.overall
    return f"{total.percent:.1f} ({total.low:.1f} to {total.high:.1f})"


def _interval(of: Rate) -> str:
    return "-" if of.low is None or of.high is None else f"{100 * of.low:.0f}% to {100 * of.high:.0f}%"


def _speed(card: Scorecard) -> str:
    return "-" if card.speed is None else f"{card.speed.tok_per_s:.1f} (n={card.speed.n})"


def _weights(scores: Sequence[CategoryScore]) -> str:
    return ", ".join(f"{score.name} {score.weight:g}" for score in scores)
