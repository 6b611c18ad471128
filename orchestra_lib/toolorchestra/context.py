"""Evidence as text within token budgets: what the orchestrator reads, and what an expert reads.

Every cut keeps the tail, so that the oldest goes first; of documents, which are appended worst first, the worst.
"""

from orchestra_lib.record import record
from orchestra_lib.toolorchestra.aliases import Reading
from orchestra_lib.toolorchestra.evidence import Evidence
from orchestra_lib.toolorchestra.tokens import TokenCounter, count, tail

_CODE_HEADER = "\npython code and execution outputs:\n"
_DOCUMENTS_HEADER = "Documents:\n"
_BROKEN_CODE, _BROKEN_ATTEMPT = "```\n", "Attempt answer: "


@record
class Regime:
    """The budgets of one published setting, in tokens unless named otherwise.

    `document_end` follows each shown document. The problem counts against `whole_tokens` where `counts_problem` says
    so. A line heads the code where there is some (`heads_code`), or stands even where there is none
    (`heads_no_code`). `searches_once` takes `search` off the list as soon as there are documents.
    """

    name: str
    document_chars: int
    document_end: str = ""
    attempt_tokens: int = 8_000
    code_tokens: int
    whole_tokens: int
    counts_problem: bool = False
    heads_code: bool = True
    heads_no_code: bool = False
    searches_once: bool = False
    output_tokens: int = 12_000


HLE = Regime(
    name="hle", document_chars=1_200, document_end=" ...", code_tokens=12_000, whole_tokens=27_000, counts_problem=True
)
"""Humanity's Last Exam: the evaluation of hard questions, and the default here."""

FRAMES = Regime(
    name="frames",
    document_chars=4_000,
    code_tokens=12_000,
    whole_tokens=24_000,
    heads_no_code=True,
    searches_once=True,
)
"""FRAMES: one search a question over Wikipedia."""

TRAINING = Regime(
    name="training",
    document_chars=4_000,
    code_tokens=24_000,
    whole_tokens=24_000,
    heads_code=False,
    output_tokens=8_768,
)
"""Rollouts of training since January 2026."""


def orchestrator_context(evidence: Evidence, problem: str, regime: Regime, counter: TokenCounter) -> str:
    """What stands between the problem and the closing line; empty when there is no evidence.

    When code and attempts alone pass the whole budget, uncut, the documents are left out altogether. The two
    headers and the fence that mends a cut block come on top of the budget (about ten tokens).
    """
    whole = max(0, regime.whole_tokens - (count(counter, problem) if regime.counts_problem else 0))
    code, uncut_tokens = _code_and_attempts(evidence, regime, counter)
    if uncut_tokens >= whole:
        return _mended(tail(counter, code, whole), _BROKEN_CODE, "```")
    documents = _documents(evidence, regime.document_chars, regime.document_end)
    header = _CODE_HEADER if (regime.heads_code if code else regime.heads_no_code) else ""
    context = tail(counter, documents + header + code, whole)
    return _DOCUMENTS_HEADER + context if documents else context


def expert_context(evidence: Evidence, problem: str, reading: Reading, counter: TokenCounter) -> str:
    """What an expert reads before the question: documents and code runs, within its own budgets."""
    documents = _documents(evidence, reading.document_chars, "")
    code = _mended(tail(counter, _code(evidence), reading.code_tokens), _BROKEN_CODE, "```")
    context = tail(counter, documents + code, max(0, reading.whole_tokens - count(counter, problem)))
    return _DOCUMENTS_HEADER + context if documents else context


def _code_and_attempts(evidence: Evidence, regime: Regime, counter: TokenCounter) -> tuple[str, int]:
    """The text, cut, and how many tokens it had uncut."""
    attempts = "".join(
        f"Attempt{number} answer by {attempt.alias}: {attempt.answer}\n"
        for number, attempt in enumerate(evidence.attempts, start=1)
    )
    attempts = _mended(tail(counter, attempts, regime.attempt_tokens), _BROKEN_ATTEMPT, "Attempt")
    text = _code(evidence) + attempts
    cut = tail(counter, text, regime.code_tokens)
    # Attempts alone get the fence too: that is how the model saw them, had it seen any.
    return _mended(cut, _BROKEN_CODE, "```"), count(counter, text)


def _code(evidence: Evidence) -> str:
    return "".join(f"{piece}\n\n" for piece in evidence.code)


def _documents(evidence: Evidence, chars: int | None, end: str) -> str:
    numbered = enumerate(evidence.documents, start=1)
    return "".join(f"Doc {number}: {document[:chars]}{end}\n\n" for number, document in numbered)


def _mended(text: str, missing: str, beginning: str) -> str:
    """A text that lost its beginning to a cut gets a substitute for it."""
    return missing + text if text and not text.startswith(beginning) else text
