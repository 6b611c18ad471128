"""The words by which people state goals and speak of tools: patterns for `preference_text`, in English, lower case."""

_NO_MATTER = (
    r"(?:(?:does not|do not|doesn't|don't) (?:really )?matter|(?:is|are)(?:n't| not) (?:really |very |that |so )?"
    r"(?:important|key|critical|essential|an? (?:issue|concern|problem))|(?:is|are) no (?:issue|concern|problem))"
)
_UNCARED = r"(?:do not|don't) (?:really )?(?:care|worry)(?: about| how much)?(?: the)?"
_MUCH = r"(?:(?:is|are) (?:very |most |really )?(?:important|key|critical|essential)|matters? (?:most|a lot|much))"
_LITTLE = r"matters? a (?:little|bit)"
_MONEY = r"(?:costs?|prices?|money|budget|expenses)"
_TIME = r"(?:time|speed|latency|how long it takes)"
_QUALITY = r"(?:quality|accuracy|correctness|precision)"
_LEAST = r"(?: as possible)?"
_NOT_BE = (
    r"(?:\w+n't|not|no need)(?: (?:need|have|want|require|to|it|this|that|be|so|too|very|really|all|an?|answer|you))*"
)

GOALS: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    (
        "cost",
        0.0,
        (
            rf"{_MONEY} {_NO_MATTER}",
            rf"{_UNCARED} {_MONEY}",
            rf"{_MONEY} is no (?:object|issue|concern)",
            r"whatever it costs",
            rf"{_NOT_BE} (?:cheap(?:est)?|inexpensive)",
            r"at any (?:cost|price)",
            rf"regardless of (?:the )?{_MONEY}",
        ),
    ),
    ("cost", 0.2, (rf"{_MONEY} {_LITTLE}",)),
    (
        "cost",
        1.0,
        (
            rf"{_MONEY} {_MUCH}",
            r"(?:keep|hold) (?:the |my )?(?:costs?|bill|price) (?:low|down)",
            r"(?:low|minimal|lowest) (?:costs?|price)",
            r"minimi[sz]e (?:the )?costs?",
            rf"(?:as )?(?:cheap(?:ly|er|est)?|inexpensive(?:ly)?){_LEAST}",
            r"(?:save|saving) money",
            r"(?:tight|small|low) budget|budget is (?:tight|small|low)",
            rf"spend (?:as )?little{_LEAST}",
            r"(?:not too|not|nothing|avoid|don't use|do not use|without) expensive",
        ),
    ),
    ("cost", 0.5, (rf"{_MONEY} matters?",)),
    (
        "latency",
        0.0,
        (
            rf"{_TIME} {_NO_MATTER}",
            rf"{_UNCARED} {_TIME}",
            r"take (?:your|its) time",
            r"no (?:hurry|rush)",
            r"(?:i |we )?can wait",
            rf"{_NOT_BE} (?:urgent|fast|quick(?:ly)?|hurry|rush(?:ed)?)",
            r"(?:do not|don't) mind (?:waiting|the wait)",
        ),
    ),
    ("latency", 0.2, (rf"{_TIME} {_LITTLE}",)),
    (
        "latency",
        1.0,
        (
            rf"{_TIME} {_MUCH}",
            rf"(?:be |as )?(?:quick(?:ly|er|est)?|fast(?:er|est)?|soon){_LEAST}",
            r"asap|urgent(?:ly)?|(?:in a |i am in a )?hurry|immediately|right away",
            r"(?:low|minimal|minimi[sz]e) latency|(?:save|saving) time",
            r"(?:not too|not|nothing|avoid|without) slow(?: (?:ones|tools|things|stuff))?",
        ),
    ),
    ("latency", 0.5, (rf"{_TIME} matters?",)),
    (
        "outcome",
        0.0,
        (
            rf"{_QUALITY} {_NO_MATTER}",
            rf"{_UNCARED} {_QUALITY}",
            r"(?:a )?rough(?:ly)?(?: (?:answer|guess))?(?: is enough| will do)?",
            rf"{_NOT_BE} (?:exact|accurate|perfect|precise|correct)",
            r"good enough",
        ),
    ),
    ("outcome", 0.2, (rf"{_QUALITY} {_LITTLE}",)),
    (
        "outcome",
        1.0,
        (
            rf"{_QUALITY} {_MUCH}",
            r"answer well|get it right",
            r"(?:the )?(?:best|highest|high|top)(?: possible)? (?:quality|answers?|results?)",
            r"(?:be )?(?:very )?(?:accurate|correct|precise|thorough|careful)(?:ly)?|exact|reliable",
        ),
    ),
    ("outcome", 0.5, (rf"{_QUALITY} matters?",)),
)
"""A goal, a weight, and what people say to mean it; looked for in this order."""

LESS = -0.5
"""The weight of what another tool is preferred to."""

NEGATIONS = (r"\w+n't|not|no|never|without|hardly|neither|nor|unless|until|avoid",)
"""Words that turn what follows them: what is said of a goal beside one that was not read is not understood."""

EXCEPTIONS = (r"except(?! (?:when|if))(?: for)?", r"apart from", r"other than")
"""Words after which a tool is wanted or not wanted as the others are not, which rules cannot tell."""

STANCES: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.0, (r"(?:do not|don't|no need to) avoid", r"(?:do not|don't|not) (?:just|only) use")),
    (
        LESS,
        (
            r"(?:only if|(?:unless|except when)(?: it is)?) (?:needed|necessary|you must)",
            r"rarely|seldom|sparingly",
            r"(?:use )?less(?: often)?|fewer",
        ),
    ),
    (
        -1.0,
        (
            r"avoid(?:ing)?|never(?: use| call)?|without|no|skip|exclude|stay away from",
            r"(?:do not|don't|not(?! only))(?: use| call| want| like)?",
        ),
    ),
    (
        0.3,
        (
            r"where (?:it|they) fits?",
            r"sometimes",
            r"(?:may|can|could)(?: be)? used?",
            r"(?:if|when) (?:useful|helpful)",
        ),
    ),
    (
        1.0,
        (
            r"prefer(?:ably|red|s)?|favou?r|rely on|mainly|mostly|always|rather|like|love|only",
            r"(?:use )?more(?: often)?",
        ),
    ),
    (0.75, (r"us(?:e|ing)|call|want",)),
)
"""A weight, and how tools are spoken of to mean it; the first that fits is taken."""

REMOTE = (
    r"(?:paid |external |commercial |remote |hosted |online |cloud )?(?:apis?(?: calls?)?|providers?)",
    r"(?:paid|external|commercial|hosted|remote|cloud) (?:models?|services?|tools?|llms?)",
    r"(?:the )?(?:cloud|internet)",
)
OWN = (r"(?:local|own|self-hosted|open) (?:models?|llms?)",)
SPECIALISTS = (r"specialists?(?: models?)?",)
GENERALISTS = (r"generalists?(?: models?)?",)
MODELS = (r"(?:large |big |language |other )?(?:models|llms|experts)",)
SEARCHES = (r"search(?:es|ing)?", r"look(?:ing)? (?:things )?up")

SECRET = (
    r"(?:is |are |be )?(?:confidential|private|secret|sensitive)",
    r"(?:must|may|should|can) ?not leave|(?:nothing|no data|none of it) (?:may|can|must|should|is to) leave",
    r"on-premises?|offline",
)
"""The user's data should stay on this machine."""

HARDWARE = (
    r"(?:have|has|got|with|own|many|enough|plenty of|several|spare|idle|our own|my own)"
    r"(?: (?:many|enough|plenty of|lots of|several|my own|our own|some|a lot of|spare|idle))? (?:gpus?|hardware)",
)
"""There is hardware to run models on."""

_FILLER = """
a about all also always am an and answer answers any are as ask at be been but by call can company could data do
document documents does else employee every everything file files for from give go has have help how i if in into is
it its just keep lab least let like made make many may me mine model models more most much must my need needs of on
one or our out over please really record records result results send should so some stuff task tell than that the
their them then there these they this those to too tool tools try us use used using very want was we well what when
where which while who will wish with work would you your
"""
FILLER = frozenset(_FILLER.split())
"""Words that say nothing about a preference by themselves."""
