"""What short texts are about, each with fourteen words that belong to it and are no words of the phrase bank."""

from __future__ import annotations

_TEXT = """
a bakery:
    bread flour oven dough baker yeast crust loaf butter recipe tray cake pastry apron
a harbor:
    boat ship anchor dock tide pier cargo crane mast sailboat ferry rope buoy lighthouse
a library:
    book shelf page author reader novel chapter desk catalog poem sentence librarian atlas dictionary
a garden:
    flower seed soil rose weed spade bee hedge lawn tulip gardener compost root blossom
a railway station:
    train track platform ticket timetable engine whistle luggage passenger conductor wagon rail bench depot
a workshop:
    hammer nail saw plank drill chisel glue bolt carpenter apprentice clamp vise screw toolbox
a kitchen:
    pan knife spoon stove soup kettle pepper onion cook plate fork sink bowl pantry
a farm:
    barn tractor cow sheep hay plow farmer fence pig orchard crop stable rooster meadow
a school:
    teacher globe lesson chalk classroom pencil exam homework notebook ruler blackboard bell uniform schoolyard
a market:
    stall vendor price fruit coin apple cheese scale customer bargain spice crate melon fishmonger
a theater:
    stage actor dialog audience drama script spotlight costume rehearsal applause director scenery comedy backdrop
a mountain hike:
    trail summit boot cliff backpack valley compass peak ridge glacier tent guidebook hiker slope
an observatory:
    telescope planet comet lens galaxy dome orbit astronomer meteor eclipse nebula moonlight spectrum satellite
a clock tower:
    clock pendulum gear dial spring hour chime escapement weight steeple clockmaker pinion lever cog
a vineyard:
    grape vine barrel cork wine harvest cellar press bottle trellis winemaker terrace label vintage
a hospital:
    nurse stethoscope bandage surgeon clinic pill ambulance ward thermometer medicine stretcher crutch syringe surgery
a museum:
    exhibit painting sculpture curator statuette artifact fossil antique portrait collection mummy vase archive relic
a fire station:
    hose stairwell helmet siren firefighter hydrant smoke alarm flame pump rescue emergency extinguisher axe
a printing house:
    ink printer paperback poster brochure margin proof pamphlet typeface editor booklet stencil engraver newspaper
a weather station:
    thermograph barometer forecast storm humidity gauge snow frost drizzle thunder lightning breeze fog hail
a pottery:
    clay kiln glaze wheel potter jug mug teapot ceramic saucer pitcher earthenware tile urn
a concert hall:
    violin piano orchestra melody soloist cello rhythm flute drum choir harp trumpet composer encore
a lake:
    fish canoe reed paddle swimmer heron duckling ripple shore raft trout dragonfly jetty lily
a post office:
    stamp parcel letterbox envelope courier address postcard mailbag clerk counter postage delivery string mailman
"""

_LINES = _TEXT.strip().splitlines()

TOPICS = {topic.strip(":"): tuple(words.split()) for topic, words in zip(_LINES[::2], _LINES[1::2], strict=True)}
"""From what a text is about to its words."""
