"""The stories of a shell game, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["leave", "enter", "put", "swap", "say", "whisper"]
Chain = tuple[int, ...]
"""(A, B): what A thinks that B thinks; (): what is so."""


@dataclass(frozen=True)
class Event:
    """What `who` does; the other fields are -1 where the kind has no use for them.

    `place` is where a thing is put or said to be, or the first box of a swap; `other` the second box, or the person
    who hears a whisper. `watcher` looks on from outside through the keyhole.
    """

    kind: Kind
    who: int
    thing: int = -1
    place: int = -1
    other: int = -1
    watcher: int = -1


@dataclass(frozen=True)
class Story:
    """`start` has the place of every thing, `asked` the questions: a thing and a chain."""

    people: tuple[str, ...]
    things: tuple[str, ...]
    places: tuple[str, ...]
    start: tuple[int, ...]
    events: tuple[Event, ...]
    asked: tuple[tuple[int, Chain], ...]


PEOPLE = (
    "Abelor", "Brisk", "Callow", "Dovrin", "Emzet", "Fiorel", "Grenda", "Hollin", "Ivrel", "Jorun", "Kestrin", "Lomar",
    "Mabrin", "Nolvi", "Oswick", "Petrel", "Quenby", "Raffin", "Sennet", "Tolva", "Umbrel", "Veslan", "Wilmar", "Yorin",
    "Zadrik", "Arlet", "Bexlin", "Corrik", "Delvin", "Edrun",
)  # fmt: skip
THINGS = (
    "bead", "key", "coin", "ring", "whistle", "thimble", "button", "marble", "stamp", "pebble", "feather", "shell",
    "acorn", "spool", "compass", "ticket", "locket", "walnut", "magnet", "badge",
)  # fmt: skip
PLACES = (
    "shelf", "sill", "stool", "hearth", "rug", "desk", "bench", "piano", "ladder", "trunk", "counter", "cabinet",
    "mantel", "sofa", "table", "stove",
)  # fmt: skip


def listed(words: Sequence[str]) -> str:
    """A, B and C."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def sentence(event: Event, story: Story) -> str:
    """What happens."""
    who = story.people[event.who]
    thing, box = story.things[event.thing], f"the box on the {story.places[event.place]}"
    watched = f" {story.people[event.watcher]} watches this through the keyhole." if event.watcher >= 0 else ""
    match event.kind:
        case "leave":
            return f"{who} leaves the room."
        case "enter":
            return f"{who} comes back into the room."
        case "put":
            return f"{who} moves the {thing} into {box}.{watched}"
        case "swap":
            return f"{who} makes {box} and the box on the {story.places[event.other]} change places.{watched}"
        case _:
            how = f"whispers to {story.people[event.other]}" if event.kind == "whisper" else "says aloud"
            return f'{who} {how}: "The {thing} is in {box}."'


def rules(story: Story) -> Iterator[str]:
    """How beliefs come about, as far as the story needs it."""
    kinds = {event.kind for event in story.events}
    yield (
        "- Everybody in the room sees what is moved there, and who else is in the room. Who is outside does not, and "
        "learns nothing of it later."
    )
    if "swap" in kinds:
        yield "- Boxes that change places stay closed and keep their contents; nobody sees what is in them."
    if any(event.watcher >= 0 for event in story.events):
        yield "- Who watches through the keyhole sees what is moved and who is in the room; nobody ever knows of it."
    if kinds & {"say", "whisper"}:
        heard = ["What is said aloud is heard by everybody in the room."] if "say" in kinds else []
        heard += ["A whisper is heard by one person; nobody else notices it."] if "whisper" in kinds else []
        yield (
            f"- {' '.join(heard)} It may be false. All hearers believe it, whatever they thought before. It is then "
            "taken for granted among speaker and hearers that every one of them, the speaker included, believes it; "
            "only what the speaker really thinks does not change."
        )
    yield "- Nobody forgets, guesses or concludes anything else, and everybody knows that all people think like this."


def question(story: Story, thing: int, chain: Chain) -> str:
    """Where a chain takes a thing to be."""
    if not chain:
        return f"Where is the {story.things[thing]}?"
    first, *others = [story.people[person] for person in chain]
    return f"Where does {first} think {''.join(f'that {one} thinks ' for one in others)}the {story.things[thing]} is?"
