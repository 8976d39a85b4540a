"""Plain sentences of a wanted shape: the phrase bank from which witnesses are put together.

A sentence is a list of tokens, each a word with its role, so that a word can give way to another one of its role.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crucibleforge.families._draw import Draw

OPENER, ARTICLE, ADJECTIVE, NOUN, VERB, LINK = "opener", "article", "adjective", "noun", "verb", "link"


@dataclass(frozen=True)
class Token:
    """A word in small letters; a comma may follow it, and it may be written in capitals."""

    role: str
    word: str
    comma: bool = False
    loud: bool = False


Line = tuple[Token, ...]


@dataclass(frozen=True)
class Shape:
    """How lines are written down; `closing` stands right behind the last one."""

    prefix: str = ""
    suffix: str = "."
    case: str = ""
    closing: str = ""


@dataclass(frozen=True)
class Demand:
    """What is to be written: words of each line, and what is to happen in them.

    `letters` are the first ones of the lines, "" any; no word holds a letter of `banned`. The nouns of `needed` each
    occur once, of the other nouns none is in `avoided`. `chained`: a line begins with the noun that ends the one
    before. `ringed`: the last word is the first.
    """

    lengths: tuple[int, ...]
    letters: str = ""
    banned: str = ""
    needed: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()
    chained: bool = False
    ringed: bool = False


def written(lines: Sequence[Line], shape: Shape) -> str:
    """The lines as text."""
    texts = [f"{shape.prefix}{_sentence(line, shape)}{shape.suffix}" for line in lines]
    return "\n".join(texts) + shape.closing


def _sentence(line: Line, shape: Shape) -> str:
    words = [token.word.upper() if token.loud else token.word for token in line]
    text = " ".join(word + "," * token.comma for word, token in zip(words, line, strict=True))
    if shape.case:
        return text.upper() if shape.case == "upper" else text
    return text[:1].upper() + text[1:]


def composed(demand: Demand, draw: Draw) -> list[Line] | None:
    """Lines that meet the demand, but for lengths that no pattern has; None where the bank has no words for it."""
    pools = {role: usable(role, demand.banned, demand.avoided) for role in BANK}
    pools[NOUN] = [word for word in pools[NOUN] if word not in demand.needed]
    if min(map(len, pools.values())) < 3 or len(pools[NOUN]) < 6 * len(demand.lengths):
        return None
    nouns = _different(pools[NOUN], draw)
    lines: list[Line] = []
    for length in demand.lengths:
        first = _first(demand, lines, pools, draw, nouns)
        if first is None:
            return None
        has_subject = bool(first) and first[0].role == NOUN
        lines.append((*first, *_rest(length - len(first), pools, draw, nouns, has_subject=has_subject)))
    if demand.ringed:
        last = lines[-1]
        lines[-1] = (*last[:-1], replace(last[-1], word=lines[0][0].word))
    return _placed(lines, demand, draw)


def _first(
    demand: Demand, lines: list[Line], pools: dict[str, list[str]], draw: Draw, nouns: Iterator[str]
) -> Line | None:
    """How the next line begins: with the noun of a chain or ring, with an opener, or at once."""
    if demand.chained and lines:
        return (lines[-1][-1],)
    if (demand.chained or demand.ringed) and not lines:
        return (Token(NOUN, next(nouns)),)
    wanted = demand.letters[len(lines) : len(lines) + 1]
    if not wanted and draw.chance(1, 2):
        return ()
    used = {token.word for line in lines for token in line}
    openers = [word for word in pools[OPENER] if word.startswith(wanted) and word not in used]
    return (Token(OPENER, draw.pick(openers)),) if openers else None


def _rest(count: int, pools: dict[str, list[str]], draw: Draw, nouns: Iterator[str], *, has_subject: bool) -> Line:
    """`count` words, at least five, or three after a subject: noun groups with a verb and links between them."""
    most = (count + (not has_subject)) // 3
    groups = draw.between(1 if has_subject else 2, max(most, 1 if has_subject else 2))
    extra = [0] * groups
    for _ in range(count - 3 * groups + (not has_subject)):
        extra[draw.below(groups)] += 1
    line: list[Token] = []
    for number, adjectives in enumerate(extra):
        if number or has_subject:
            role = LINK if number > (not has_subject) else VERB
            line.append(Token(role, draw.pick(pools[role])))
        line.append(Token(ARTICLE, draw.pick(pools[ARTICLE])))
        different = _different(pools[ADJECTIVE], draw)
        line += [Token(ADJECTIVE, next(different)) for _ in range(adjectives)]
        line.append(Token(NOUN, next(nouns)))
    return tuple(line)


def _different(words: Sequence[str], draw: Draw) -> Iterator[str]:
    """Words that were not drawn before; only a few of many, so that trying again costs less than shuffling."""
    seen: set[str] = set()
    while len(seen) < len(words):
        word = draw.pick(words)
        if word not in seen:
            seen.add(word)
            yield word


def _placed(lines: list[Line], demand: Demand, draw: Draw) -> list[Line] | None:
    """Put the needed nouns where other nouns are, neither first nor last in a line."""
    places = [
        (row, column)
        for row, line in enumerate(lines)
        for column, token in enumerate(line)
        if token.role == NOUN and 0 < column < len(line) - 1
    ]
    if len(places) < len(demand.needed):
        return None
    for word, (row, column) in zip(demand.needed, draw.sample(places, len(demand.needed)), strict=True):
        lines[row] = swapped(lines[row], column, word)
    return lines


def swapped(line: Line, column: int, word: str) -> Line:
    """The line with another word in one place."""
    return (*line[:column], replace(line[column], word=word), *line[column + 1 :])


def usable(role: str, banned: str = "", avoided: Sequence[str] = ()) -> list[str]:
    """The bank's words of a role without those that hold a banned letter."""
    return [word for word in BANK[role] if word not in avoided and not any(letter in word for letter in banned)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


BANK: dict[str, tuple[str, ...]] = {
    OPENER: _words(
        """
        again always annually anyway below beyond briefly busily calmly carefully certainly commonly daily dimly
        duly early easily evenly eventually fairly finally firmly fully generally gladly gradually happily here
        highly homeward indeed initially instead inward jointly justly keenly kindly lately later lightly locally
        mainly maybe monthly mostly namely nearby nightly normally now often once only openly outside partly
        patiently perhaps plainly quickly quietly rarely readily regularly safely seldom silently slowly still
        surely then there thus today together typically under until upward usually vividly warmly weekly wholly
        widely yearly yonder
        """
    ),
    ARTICLE: _words("the this that our any each every one another his their its your my no which some"),
    ADJECTIVE: _words(
        """
        old small broad bright calm clean cold common dark deep dry empty fair firm flat fresh full good grand gray
        green heavy high hollow huge humid kind large long loud low main mild modern narrow neat new plain proud
        quick quiet rapid rich round rough sharp short silent simple slim slow smooth soft solid spare steep still
        strong sturdy tall thick thin tidy tiny vast warm wide wild wooden young local modest useful careful
        patient distant ordinary
        """
    ),
    NOUN: _words(
        """
        morning evening town village road corner crowd friend window room door wall stone hill field path square
        child driver neighbor visitor worker family group story plan habit season summer winter sky sun moon rain
        wind cloud shadow light voice sound song color sign map letter paper ribbon button pocket basket bucket
        ladder candle lamp mirror carpet cushion curtain drawer cabinet corridor gallery garage cottage tower
        district country journey question answer reason moment minute history tradition custom promise surprise
        pattern picture figure circle balcony chimney railing pavement fountain statue avenue bottom
        distance holiday doctor lawyer pupil mayor sailor tailor cousin uncle aunt twin dog cat horse goat fox owl
        swan duck ant moss fur wool silk salt sand dust mud coal iron tin zinc gold brass
        """
    ),
    VERB: _words(
        """
        holds keeps shows finds brings carries follows joins lifts needs opens passes reaches serves shapes shields
        sorts stirs suits turns warms watches worries adorns avoids blocks calms clips copies covers draws fills
        forms frames guards guides helps hits honors hugs knows marks nudges owns pushes pulls spots trails visits
        awaits
        """
    ),
    LINK: _words("near with by on for from in behind along around across past without under above at to"),
}
"""Words by their role, of which at least three of each are free of any one letter that rules ban."""
