"""What is to be shortened: paragraphs with room for six facts, and the facts that are put into them."""

from __future__ import annotations

from dataclasses import dataclass

from crucibleforge.families._draw import Draw

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_FIRST = ("Annika", "Bertil", "Chiara", "Domenic", "Eleni", "Florian", "Gudrun", "Henrik", "Irena", "Joakim")
_LAST = (
    "Ellingsen", "Vorhaal", "Castellan", "Dravnik", "Hollinger", "Imbruglio", "Kessler", "Lundmark", "Morvane",
    "Nystrand", "Ostrowska", "Pellegrin", "Quistgaard", "Rautio", "Sondergaard", "Tavares",
)  # fmt: skip
_TOWNS = (
    "Aldermoor", "Brenvik", "Calderath", "Dunmarsh", "Eskelund", "Farrowby", "Gromholt", "Hallensund", "Istermark",
    "Kestrelby", "Lorvigen", "Marrowick", "Norrhamn", "Ollerstad", "Pellworm", "Quarnby",
)  # fmt: skip


@dataclass(frozen=True)
class Topic:
    """`long` is what is sent, `short` a reply that keeps all facts, `labels` what each kind of fact is here."""

    labels: dict[str, str]
    long: str
    short: str


def values(draw: Draw) -> dict[str, str]:
    """Facts as the paragraphs write them. Count, sum and share cannot be mistaken for one another or for the date."""
    whole = draw.between(11, 89) * 1000 + draw.between(1, 99) * 10
    return {
        "person": f"{draw.pick(_FIRST)} {draw.pick(_LAST)}",
        "place": draw.pick(_TOWNS),
        "date": f"{draw.between(13, 28)} {draw.pick(MONTHS)} {draw.between(2009, 2024)}",
        "total": f"{whole:,}",
        "money": f"{draw.between(2, 9)}.{draw.between(1, 9)} million euros",
        "share": f"{draw.between(41, 89)} percent",
    }


TOPICS = (
    Topic(
        {
            "place": "the town",
            "date": "the date of the decision, with day, month and year",
            "person": "the name of the engineer",
            "total": "how many passengers the old boats carried",
            "money": "what the new boats cost",
            "share": "the share that the region pays",
        },
        "After nine months of trials on the sheltered side of the bay, the council of {place} decided on {date} to "
        "replace its diesel ferries with electric boats, a plan that its chief engineer, {person}, had drawn up "
        "against the advice of two of the operators. The old boats, whose engines were rebuilt twice and whose decks "
        "no longer pass inspection without exemptions, carried {total} passengers in their best summer, yet they were "
        "late so often that the bus company stopped waiting for them. The new ones cost {money}, of which the region "
        "pays {share}, while the rest comes from tickets, a loan and the sale of the landing stage at the north end. "
        "Critics say that charging will strain the grid on cold mornings; supporters answer that the boats charge at "
        "night, when demand is low and the wind usually blows.",
        "On {date} {place} decided to replace its diesel ferries, which carried {total} passengers in their best "
        "summer, with electric boats planned by {person}. They cost {money}; the region pays {share}.",
    ),
    Topic(
        {
            "place": "the town",
            "date": "the date of the opening, with day, month and year",
            "person": "the name of the botanist",
            "total": "how many samples of seed are stored",
            "money": "what the building cost",
            "share": "the share of the samples that sprouted",
        },
        "Under the old brewery of {place}, in cellars that once held barrels and later nothing but bicycles, a seed "
        "archive was opened on {date}, and it already holds {total} samples, most of them of vegetables that no dealer "
        "has listed for decades. The botanist {person}, who had collected from allotments and convent gardens since "
        "student days, persuaded the owners to give the cellars away for a symbolic rent; the conversion still "
        "cost {money}, because the walls were damp, the stairs too steep and the first cooling plant so loud that the "
        "neighbours went to court. When the store was tested last winter, {share} of the samples sprouted, which is "
        "more than anybody had hoped of seeds that had lain in tins and envelopes; what did not sprout is kept all "
        "the same, since methods get better and space is not the problem.",
        "The seed archive of {place}, opened on {date} by the botanist {person} in converted cellars for {money}, "
        "holds {total} samples of mostly forgotten vegetables; {share} sprouted in a test.",
    ),
    Topic(
        {
            "place": "the town",
            "date": "the date of the reopening, with day, month and year",
            "person": "the name of the surveyor",
            "total": "how many bricks were replaced",
            "money": "what the repair cost",
            "share": "the share of the wall that is still original",
        },
        "The canal tunnel at {place}, closed since part of its lining fell on an empty coal boat, was reopened on "
        "{date} in the presence of more visitors than the towpath could hold. Masons had replaced {total} bricks by "
        "hand, working from rafts and by lamplight, because the surveyor, {person}, had refused every proposal to "
        "spray the vault with concrete: it would have been quicker, but would have shut in the water that had done "
        "the damage in the first place. The repair cost {money}, nearly twice the first estimate, a difference that "
        "the canal trust explains by two floods, one bankruptcy and a colony of bats that had to be left in peace "
        "until autumn. Of the wall {share} is still original, and anyone who passes through can tell the old courses "
        "from the new ones by their colour, though the surveyor expects the soot of a few winters to change that.",
        "The canal tunnel at {place} reopened on {date}. Masons replaced {total} bricks by hand, since the surveyor "
        "{person} refused concrete. The repair cost {money}; {share} of the wall is still original.",
    ),
)
