"""Who asks, in what situation, and what they may need: the material of `preference_pairs`.

Openings only tell of a situation; what is wished is said by a wording of each need.
"""

from orchestra_lib.preference_needs import Need
from orchestra_lib.record import record


@record
class Situation:
    """Somebody with a task: ways to tell of it, and what they may need."""

    name: str
    openings: tuple[str, ...]
    needs: tuple[Need, ...]


_N = Need
SITUATIONS: tuple[Situation, ...] = (
    Situation(
        name="night ward",
        openings=("I am a nurse on the night shift", "It is 3 am on the ward", "A patient is waiting at my desk"),
        needs=(_N.URGENT, _N.SECRET, _N.EXACT, _N.RICH, _N.NO_APIS),
    ),
    Situation(
        name="bank employee",
        openings=("I am an employee of a bank", "I sit in the back office of a bank", "We settle trades all day"),
        needs=(_N.SECRET, _N.HARDWARE, _N.NO_APIS, _N.EXACT, _N.BRISK),
    ),
    Situation(
        name="student",
        openings=("I am a student in my second year", "This is for a seminar", "I pay for this out of a scholarship"),
        needs=(_N.CHEAP, _N.PATIENT, _N.DECENT, _N.SEARCHES, _N.THRIFTY),
    ),
    Situation(
        name="newsroom",
        openings=("We go to press tonight", "I am an editor at a newspaper", "The presenter is about to go on air"),
        needs=(_N.URGENT, _N.EXACT, _N.SEARCHES, _N.RICH, _N.THRIFTY),
    ),
    Situation(
        name="law firm",
        openings=("I prepare a brief for a court", "Our clients trust this law firm", "The hearing is in a week"),
        needs=(_N.SECRET, _N.EXACT, _N.PATIENT, _N.RICH, _N.NO_APIS),
    ),
    Situation(
        name="hobby",
        openings=("This is a hobby of mine", "I tinker on Sundays", "It is only a game that I write"),
        needs=(_N.CHEAP, _N.PATIENT, _N.ROUGH, _N.HARDWARE, _N.FEW_CENTS),
    ),
    Situation(
        name="research lab",
        openings=("Our group studies proteins", "I run a physics lab", "We write a paper on galaxies"),
        needs=(_N.HARDWARE, _N.EXACT, _N.SPECIALISTS, _N.PATIENT, _N.UNHURRIED),
    ),
    Situation(
        name="call centre",
        openings=("A customer is on the line", "I answer the telephone all day", "The queue of callers grows"),
        needs=(_N.URGENT, _N.THRIFTY, _N.DECENT, _N.GENERALISTS, _N.ROUGH),
    ),
    Situation(
        name="tax office",
        openings=("I check tax returns", "We audit small companies", "The ministry asked me for figures"),
        needs=(_N.SECRET, _N.EXACT, _N.NO_APIS, _N.UNHURRIED, _N.FEW_CENTS),
    ),
    Situation(
        name="trading floor",
        openings=("The market closes in minutes", "I trade power futures", "My desk watches the auction"),
        needs=(_N.URGENT, _N.RICH, _N.EXACT, _N.SPECIALISTS, _N.BRISK),
    ),
    Situation(
        name="charity",
        openings=("We are a charity of volunteers", "Donations pay for this", "I keep the books of a food bank"),
        needs=(_N.CHEAP, _N.DECENT, _N.PATIENT, _N.NO_APIS, _N.UNHURRIED),
    ),
    Situation(
        name="ship",
        openings=("I am the mate of a container ship", "We are at sea", "The link to shore is thin out here"),
        needs=(_N.NO_APIS, _N.NO_SEARCHES, _N.HARDWARE, _N.PATIENT, _N.BRISK),
    ),
    Situation(
        name="teacher",
        openings=("I teach a class of twelve year olds", "Tomorrow's lesson is not ready", "My pupils like riddles"),
        needs=(_N.FEW_CENTS, _N.ROUGH, _N.SEARCHES, _N.UNHURRIED, _N.DECENT),
    ),
    Situation(
        name="engineer on call",
        openings=("The pager woke me", "I am on call for a data centre", "The site has been down since noon"),
        needs=(_N.URGENT, _N.SPECIALISTS, _N.RICH, _N.NO_SEARCHES, _N.DECENT),
    ),
    Situation(
        name="translator",
        openings=("I translate novels", "The publisher wants chapter nine", "I work on subtitles"),
        needs=(_N.GENERALISTS, _N.EXACT, _N.PATIENT, _N.NO_SEARCHES, _N.THRIFTY),
    ),
    Situation(
        name="defence contractor",
        openings=("I build radar parts", "Our site has a fence around it", "We supply the navy"),
        needs=(_N.SECRET, _N.NO_APIS, _N.HARDWARE, _N.EXACT, _N.NO_SEARCHES),
    ),
    Situation(
        name="start-up",
        openings=("We are three founders in a garage", "Our start-up shows a demo at six", "Investors arrive at noon"),
        needs=(_N.URGENT, _N.CHEAP, _N.ROUGH, _N.GENERALISTS, _N.BRISK),
    ),
    Situation(
        name="librarian",
        openings=("I look after an archive", "A reader asked me for sources", "Our library is open to everybody"),
        needs=(_N.SEARCHES, _N.EXACT, _N.PATIENT, _N.CHEAP, _N.DECENT),
    ),
    Situation(
        name="farm",
        openings=("I farm in a valley", "The harvest starts on Monday", "We keep two hundred goats"),
        needs=(_N.CHEAP, _N.ROUGH, _N.UNHURRIED, _N.GENERALISTS, _N.THRIFTY),
    ),
    Situation(
        name="drug safety",
        openings=("I review reports on a new drug", "We run a trial at four hospitals", "A regulator reads this"),
        needs=(_N.EXACT, _N.SECRET, _N.SPECIALISTS, _N.HARDWARE, _N.RICH),
    ),
    Situation(
        name="travel desk",
        openings=("My train leaves at five", "I book trips for a choir", "We are stuck at an airport"),
        needs=(_N.URGENT, _N.SEARCHES, _N.FEW_CENTS, _N.ROUGH, _N.BRISK),
    ),
    Situation(
        name="batch job",
        openings=("This is one of a million rows", "A batch of these runs over night", "I label a corpus"),
        needs=(_N.CHEAP, _N.PATIENT, _N.DECENT, _N.HARDWARE, _N.NO_SEARCHES),
    ),
    Situation(
        name="museum",
        openings=("I write labels for a museum", "The exhibition opens in May", "We restore old clocks"),
        needs=(_N.EXACT, _N.SEARCHES, _N.UNHURRIED, _N.FEW_CENTS, _N.THRIFTY),
    ),
    Situation(
        name="quiz night",
        openings=("It is quiz night at the pub", "My team is one point behind", "The host reads the question twice"),
        needs=(_N.URGENT, _N.GENERALISTS, _N.ROUGH, _N.CHEAP, _N.NO_SEARCHES),
    ),
    Situation(
        name="insurance",
        openings=("I assess claims after a storm", "We insure small boats", "An adjuster forwarded me photographs"),
        needs=(_N.THRIFTY, _N.SECRET, _N.BRISK, _N.DECENT, _N.SPECIALISTS),
    ),
)
