"""Things move between boxes while people come and go, peep and fib: where are they, where does A think B thinks?

No belief that is asked about is true, and a reader who overlooks a kind of event, or one person of every chain, gets
at least one of the answers wrong.

`solve` keeps for every chain of people the events that all of the chain take in together, and plays those alone.
`verify` carries a tree of possible worlds through an event model: what each person takes the world to be, and in it
the next person, and so on (product update; Baltag, Moss and Solecki 1998, TARK).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from crucibleforge.families._draw import Draw
from crucibleforge.families._dress import alone, answers
from crucibleforge.families._kit import ANSWER_LINE, Dialogues, Draft, Family, Item
from crucibleforge.families.reasoning._story import (
    PEOPLE,
    PLACES,
    THINGS,
    Chain,
    Event,
    Kind,
    Story,
    listed,
    question,
    rules,
    sentence,
)
from crucibleforge.types import Grading


@dataclass(frozen=True)
class Params:
    """Numbers of a rung, the kinds of events (repeated: more often), and the length of the chain of each question.

    Every `watched`-th move or swap is watched from outside, if somebody is there (0: none).
    """

    people: int
    things: int
    places: int
    events: int
    kinds: tuple[Kind, ...]
    orders: tuple[int, ...]
    watched: int = 0


_PICKS = 20
"""Tries to find questions about one story, which are cheaper than another story."""


def generate(params: Params, draw: Draw) -> Story:
    """Tell stories until one leaves people with the beliefs that the rung asks about."""
    return draw.until(lambda: _asking(params, _told(params, draw), draw), tries=4000)


def _told(params: Params, draw: Draw) -> Story:
    story = Story(
        people=tuple(draw.sample(PEOPLE, params.people)),
        things=tuple(draw.sample(THINGS, params.things)),
        places=tuple(draw.sample(PLACES, params.places)),
        start=tuple(draw.below(params.places) for _ in range(params.things)),
        events=(),
        asked=(),
    )
    inside = list(range(params.people))
    now = list(story.start)
    events: list[Event] = []
    while len(events) < params.events:
        event = _next(draw.pick(params.kinds), inside, now, params, draw)
        if event is None or (events and (event.kind, event.who) == (events[-1].kind, events[-1].who)):
            continue
        if event.kind == "enter" and events and (events[-1].kind, events[-1].who) == ("leave", event.who):
            continue
        events.append(event)
        inside = _inside_after(event, inside)
        now = _moved(event, now)
    return replace(story, events=tuple(events))


def _next(kind: Kind, inside: list[int], now: list[int], params: Params, draw: Draw) -> Event | None:
    """An event that can happen; None if the draw makes no sense."""
    outside = [person for person in range(params.people) if person not in inside]
    if kind == "enter":
        return Event("enter", draw.pick(outside)) if outside else None
    who = draw.pick(inside)
    if kind == "leave":
        return Event("leave", who) if len(inside) > 1 else None
    thing, place = draw.below(params.things), draw.below(params.places)
    watcher = draw.pick(outside) if outside and params.watched and draw.chance(1, params.watched) else -1
    match kind:
        case "put":
            return Event("put", who, thing, place, watcher=watcher) if now[thing] != place else None
        case "swap":
            other = draw.below(params.places)
            is_felt = place != other and (place in now or other in now)
            return Event("swap", who, -1, min(place, other), max(place, other), watcher) if is_felt else None
        case _:
            other = draw.pick(inside)
            if len(inside) < 2 or other == who:
                return None
            return Event(kind, who, thing, place, other if kind == "whisper" else -1)


def _inside_after(event: Event, inside: list[int]) -> list[int]:
    if event.kind == "enter":
        return sorted([*inside, event.who])
    return [person for person in inside if (event.kind, event.who) != ("leave", person)]


def _asking(params: Params, story: Story, draw: Draw) -> Story | None:
    """The story with questions to whose answers every rule matters; None if it has none."""
    scenes = _scenes(story)
    believed: dict[Chain, list[int]] = {}
    for chain in _chains(params.people, max(params.orders)):
        believed[chain] = _believed(story.start, scenes, chain)
    real = believed[()]
    false = [
        (thing, chain)
        for chain, places in believed.items()
        for thing, place in enumerate(places)
        if not chain or place != real[thing]
    ]
    fitting = [[one for one in false if len(one[1]) == order] for order in params.orders]
    if not all(fitting):
        return None
    for _ in range(_PICKS):
        asked = tuple(draw.pick(ones) for ones in fitting)
        found = replace(story, asked=asked)
        answer = _answers(found)
        if len(set(asked)) == len(asked) and len(set(answer)) > 1 and answer not in map(_answers, _simpler(found)):
            return found
    return None


def _chains(people: int, longest: int) -> Iterator[Chain]:
    """All chains in which nobody thinks about their own thoughts directly."""
    level: list[Chain] = [()]
    yield ()
    for _ in range(longest):
        level = [(*chain, one) for chain in level for one in range(people) if chain[-1:] != (one,)]
        yield from level


def _simpler(story: Story) -> Iterator[Story]:
    """The stories and questions of careless readers; none of them is the story itself."""
    yield replace(story, events=())
    for kind in ("swap", "say", "whisper"):
        if any(event.kind == kind for event in story.events):
            yield replace(story, events=tuple(event for event in story.events if event.kind != kind))
    if any(event.watcher >= 0 for event in story.events):
        yield replace(story, events=tuple(replace(event, watcher=-1) for event in story.events))
    for cut in _CUTS:
        asked = tuple((thing, chain[cut]) for thing, chain in story.asked)
        if asked != story.asked:
            yield replace(story, asked=asked)


_CUTS = (slice(0), slice(1, None), slice(-1), slice(None, 1), slice(-1, None))
"""Chains made shorter: nobody, without the first or last person, that person alone."""


def solve(story: Story) -> list[str]:
    """For each question play the events that its chain takes in."""
    return [story.places[place] for place in _answers(story)]


def _answers(story: Story) -> list[int]:
    scenes = _scenes(story)
    return [_believed(story.start, scenes, chain)[thing] for thing, chain in story.asked]


Scene = tuple[Event, list[int]]
"""An event, and those who take part in it and see each other."""


def _scenes(story: Story) -> list[Scene]:
    inside = list(range(len(story.people)))
    scenes: list[Scene] = []
    for event in story.events:
        if event.kind not in ("leave", "enter"):
            scenes.append((event, [event.who, event.other] if event.kind == "whisper" else inside))
        inside = _inside_after(event, inside)
    return scenes


def _believed(start: Sequence[int], scenes: list[Scene], chain: Chain) -> list[int]:
    """Where the chain takes each thing to be."""
    places = list(start)
    for event, present in scenes:
        # Nobody knows of the watcher, so that only what the watcher thinks, or thinks that others think, is touched.
        seen_by = chain[1:] if chain[:1] == (event.watcher,) else chain
        if all(person in present for person in seen_by):
            if event.kind in ("put", "swap"):
                places = _moved(event, places)
            elif chain not in ((), (event.who,)):
                places[event.thing] = event.place
    return places


def _moved(event: Event, places: list[int]) -> list[int]:
    after = list(places)
    if event.kind == "put":
        after[event.thing] = event.place
    elif event.kind == "swap":
        other = {event.place: event.other, event.other: event.place}
        after = [other.get(place, place) for place in places]
    return after


@dataclass(frozen=True)
class World:
    """Where things are, and what each person takes the world to be; `minds` is empty below the longest chain."""

    places: tuple[int, ...]
    minds: tuple[World, ...]


Point = Literal["real", "shown", "nothing"]
"""An event as it is, as those think that it is who are shown it, and for those who miss it."""


def verify(story: Story) -> list[str]:
    """Follow each chain through the worlds that are left after the last event."""
    world = _calm(story.start, len(story.people), max(len(chain) for _, chain in story.asked))
    present = frozenset(range(len(story.people)))
    for event in story.events:
        if event.kind in ("leave", "enter"):
            present ^= {event.who}
        else:
            world = _updated(world, "real", event, present)
    found = []
    for thing, chain in story.asked:
        here = world
        for person in chain:
            here = here.minds[person]
        found.append(story.places[here.places[thing]])
    return found


def _calm(places: tuple[int, ...], people: int, depth: int) -> World:
    inner = (_calm(places, people, depth - 1),) * people if depth else ()
    return World(places, inner)


def _updated(world: World, point: Point, event: Event, present: frozenset[int]) -> World:
    if point == "nothing":
        return world
    minds = (_updated(mind, _point(one, point, event, present), event, present) for one, mind in enumerate(world.minds))
    return World(_changed(world.places, point, event), tuple(minds))


def _point(person: int, point: Point, event: Event, present: frozenset[int]) -> Point:
    """Which event a person takes this one for."""
    if point == "real" and person in (event.watcher, event.who if event.kind in ("say", "whisper") else -1):
        return "real"
    reached = person in ((event.who, event.other) if event.kind == "whisper" else present)
    return "shown" if reached else "nothing"


def _changed(places: tuple[int, ...], point: Point, event: Event) -> tuple[int, ...]:
    """Words move nothing; those who are shown them take them for what is so."""
    if event.kind == "swap":
        pair = (event.place, event.other)
        return tuple(sum(pair) - place if place in pair else place for place in places)
    is_moved = event.kind == "put" or point == "shown"
    return tuple(event.place if is_moved and thing == event.thing else place for thing, place in enumerate(places))


_COUNTS = ("no", "one", "two", "three", "four", "five", "six")


def ask(story: Story) -> Draft:
    """The room, the events, how people come to believe what they believe, the questions."""
    held = [
        f"the {thing} is in the box on the {story.places[at]}"
        for thing, at in zip(story.things, story.start, strict=True)
    ]
    scene = (
        f"{listed(story.people)} are in a room with {_COUNTS[len(story.places)]} closed boxes that look alike, one on "
        f"each of these: {', '.join(story.places)}. All of them have seen that {listed(held)}. Then this happens:"
    )
    events = [f"{number}. {sentence(event, story)}" for number, event in enumerate(story.events, start=1)]
    asked = [f"({letter}) {question(story, *one)}" for letter, one in zip("abcd", story.asked, strict=False)]
    form = f"The value is the {_COUNTS[len(asked)]} places that answer these in order, as `{story.places[0]}, ...`."
    lines = [scene, *events, "How people think:", *rules(story), "In the end:", *asked, form, ANSWER_LINE]
    return Draft(prompt="\n".join(lines), settings={"choices": list(story.places)})


def right(item: Item) -> Dialogues:
    """The places in several dressings."""
    places: list[str] = item.answer
    return (
        *answers(", ".join(places)),
        *alone(
            f"ANSWER: {' -> '.join(places)}",
            f"ANSWER: [{', '.join(places)}]",
            "**Answer:**\n" + "\n".join(f"{number}. {place}" for number, place in enumerate(places, start=1)),
            f"ANSWER: {listed(places)}".upper(),
        ),
    )


def near_misses(item: Item) -> Dialogues:
    """A simpler question answered, a rule overlooked, one place wrong, missing or too much."""
    story: Story = item.instance
    own: list[str] = item.answer
    wrong = [[*own[:at], other, *own[at + 1 :]] for at in range(len(own)) for other in story.places if other != own[at]]
    wrong += [[story.places[place] for place in _answers(simple)] for simple in _simpler(story)]
    wrong += [own[::-1], own[1:], own[:-1], [*own, own[0]], [f"{own[0]} or {own[1]}", *own[1:]]]
    return alone(*dict.fromkeys(f"ANSWER: {', '.join(places)}" for places in wrong if places != own))


def shortcuts(item: Item) -> Dialogues:
    """Where things are, were, or were last said to be; what a shorter chain thinks; the places as they are listed."""
    story: Story = item.instance
    simple = [replace(story, events=())]
    simple += [replace(story, asked=tuple((thing, chain[cut]) for thing, chain in story.asked)) for cut in _CUTS[:3]]
    named = dict(enumerate(story.start)) | {event.thing: event.place for event in story.events if event.thing >= 0}
    guesses = [*map(_answers, simple), [named[thing] for thing, _ in story.asked], [*range(len(story.asked))]]
    return alone(*(f"ANSWER: {', '.join(story.places[place] for place in places)}" for places in guesses))


def effort(story: Story) -> float:
    """Events to follow, once for every mind that a question goes through."""
    return len(story.events) * sum(1 + len(chain) for _, chain in story.asked)


_WALKS: tuple[Kind, ...] = ("leave", "enter", "put", "put", "swap")

FAMILY = Family(
    name="reasoning/shell-game",
    rungs={
        "L1": Params(2, 1, 4, 4, ("leave", "put", "put", "enter"), (0, 1)),
        "L2": Params(3, 1, 4, 8, _WALKS, (0, 1, 1)),
        "L3": Params(4, 2, 5, 10, (*_WALKS, "say"), (1, 2, 2)),
        "L4": Params(4, 2, 5, 13, (*_WALKS, "say", "whisper"), (1, 2, 3), watched=4),
        "L5": Params(4, 2, 6, 15, ("leave", "enter", "put", "swap", "say", "whisper"), (2, 3, 3), watched=2),
    },
    generate=generate,
    solve=solve,
    verify=verify,
    ask=ask,
    grading=Grading("exact", {"kind": "tuple"}),
    right=right,
    near_misses=near_misses,
    shortcuts=shortcuts,
    effort=effort,
    chance=1 / 12,
    shown="the places are listed",
    max_tokens={"L1": 512, "L2": 1024, "L3": 2048, "L4": 3072, "L5": 4096},
    prompt_tokens={"L1": 350, "L2": 450, "L3": 700, "L4": 800, "L5": 900},
    cost=2,
)
