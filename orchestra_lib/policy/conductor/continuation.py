"""What follows from the latest results: an answer, a calculation, a search, a test, a fresh program, or nothing."""

import math
import re
from collections.abc import Sequence

from orchestra_lib.policy.conductor import question as wording
from orchestra_lib.policy.conductor import verifier
from orchestra_lib.policy.conductor.documents import Document, merge
from orchestra_lib.policy.conductor.fields import asked_field
from orchestra_lib.policy.conductor.findings import Answer, Calculation, Queries
from orchestra_lib.policy.conductor.moves import Move
from orchestra_lib.policy.conductor.passages import best_sentence, relevant
from orchestra_lib.policy.conductor.progress import argument_of, code_of, is_test, succeeded, text_of
from orchestra_lib.policy.conductor.selection import search
from orchestra_lib.policy.conductor.turn import CODE, COMPUTED, TEXT, Turn
from orchestra_lib.tool import ToolSpec
from orchestra_lib.trajectory import Call

SEARCH_ROUNDS = 4
PROGRAM_TRIES = 2
PASSAGES_READ = 3
_WHOLE = re.compile(r"^(-?\d+)\.0$")
_NUMBER = re.compile(r"[$€£]?\s*(-?\d[\d,]*(?:\.\d+)?)\s*[\w%€/]*")
_BOXED = re.compile(r"\\boxed\{\s*(?:\\text\{)?\$?([^{}]{1,40})\}")


async def follow(turn: Turn) -> Move | None:
    """The move that follows from the latest results; None at the start and when they did not help."""
    last = turn.progress.last
    if not last:
        return None
    if is_test(last[0]):
        return _after_test(turn, last[0])
    spec = turn.progress.spec(last[0].call.tool)
    if spec is None:
        return None
    match argument_of(spec):
        case "code":
            return await _after_program(turn, last)
        case "query":
            return await _after_search(turn, spec)
    return _after_reply(turn, last[0])


async def _after_program(turn: Turn, last: Sequence[Call]) -> Move | None:
    good = [text_of(call).strip() for call in last if succeeded(call) and not verifier.usable(text_of(call))]
    odd = next((why for output in good if (why := verifier.odd_count(turn.task, output))), None)
    if good and odd is None:
        return await _checked(turn, good[0]) or _computed(turn, good[0])
    if (fresh := await _fresh_program(turn, last, odd or turn.failure(last[0]))) is not None:
        return fresh
    if good:  # no other program is to be had: the doubt stays ours
        return _computed(turn, good[0])
    found = turn.finding()
    return _partly(found) if isinstance(found, Answer) else None


async def _fresh_program(turn: Turn, last: Sequence[Call], why: str) -> Move | None:
    """Another program in a fresh prompt, once."""
    earlier = turn.progress.programs()
    if turn.calculation() is not None or turn.writer is None or len(earlier) >= PROGRAM_TRIES:
        return None
    failures = [(code_of(call), why) for call in last]
    written = await turn.write(turn.writer.program(turn.task, failures, seed=len(earlier)))
    code = str(written.value["code"]) if written.value else ""
    if not code or code in {code_of(call) for call in earlier}:
        return None
    return Move(
        why=f"The program is no good ({why}); a fresh one.", tool=last[0].call.tool, arguments=({"code": code},)
    )


async def _checked(turn: Turn, output: str) -> Move | None:
    """What a program printed for a word problem, beside what the small model comes to in words; None where it is not
    asked.

    On 50 questions of GSM8K the two agreed on 25, and 21 were right; of the rest the program had 5, words 4.
    """
    printed = _NUMBER.fullmatch(output)
    if printed is None or turn.writer is None or turn.finding() is not None or not turn.wants_check:
        return None
    who = turn.writer.model_name
    said = f"Python printed {_plain(output)}; {who} solves it in words, too."
    turn.spoken.put_nowait(f"{said} ")
    written = await turn.write(turn.writer.reckoning(turn.task))
    if written.value is None:
        return Move(why=f"{said} {written.why_not}.", answer=_plain(output))
    reckoned = written.value["answer"]
    if math.isclose(float(printed[1].replace(",", "")), reckoned, rel_tol=1e-3, abs_tol=1e-6):
        return Move(why=f"{said} It comes to the same.", answer=_plain(output))
    note = f"Not checked: {who} comes to {reckoned:.10g} in words; at least one of the two is wrong."
    return Move(why=f"{said} It comes to {reckoned:.10g}.", answer=f"{_plain(output)}\n\n{note}")


def _computed(turn: Turn, output: str) -> Move:
    answer = _plain(output)
    found = turn.finding()
    if isinstance(found, Calculation):
        why = f"Python computed it from what was found: {found.source}."
        return Move(why=why, answer=_with_source(answer, found.source))
    if isinstance(found, Answer):
        both = answer if found.text in answer else f"{found.text}; {answer}"
        return Move(why=f"Python printed the rest: {found.rest}.", answer=_with_source(both, found.source))
    return Move(why="Python printed the result.", answer=answer)


def _plain(output: str) -> str:
    """What was printed; a whole number without its `.0`."""
    return _WHOLE.sub(r"\1", output)


def _with_source(answer: str, source: str) -> str:
    return f"{answer}\nFrom the local library: {source}."


async def _after_search(turn: Turn, spec: ToolSpec) -> Move | None:
    match turn.finding():
        case Answer() as found:
            return await _with_rest(turn, found) or _partly(found)
        case Calculation(code=code, source=source):
            return _compute(turn, code, source)
        case Queries(texts=texts, why=why) if len(turn.progress.rounds) < SEARCH_ROUNDS:
            queries = tuple(search(spec, query, 2) for query in texts)
            return Move(why=f"Search on: {why}.", tool=spec.name, arguments=queries)
    return await _read(turn)


async def _with_rest(turn: Turn, found: Answer) -> Move | None:
    """A program for the second part of the question, once the first is known; the model that writes it is told that."""
    interpreter = turn.interpreter()
    if interpreter is None or turn.writer is None or turn.progress.programs():
        return None
    if not wording.OF_THE_ANSWER.search(found.rest):  # it takes a fact, and a program knows none
        return None
    written = await turn.write(turn.writer.program(f"{turn.task}\nKnown: {found.source}."))
    if written.value is None:
        return None
    why = f"The library says it: {found.source}. For the rest, “{found.rest}”, Python runs a program."
    return Move(why=why, tool=interpreter.name, arguments=({"code": str(written.value["code"])},))


def _partly(found: Answer) -> Move:
    """What the library says, and what of the question it leaves open."""
    answer = _with_source(found.text, found.source)
    rest = f"\nNot answered: {found.rest}." if found.rest else ""
    return Move(why=f"The library says it: {found.source}.", answer=answer + rest)


def _compute(turn: Turn, code: str, source: str) -> Move:
    if (interpreter := turn.interpreter()) is None:
        answer = f"I found the values but may not compute with them: {source}."
        return Move(why="All values are found, but nothing that computes may be used.", answer=answer)
    why = f"All values are found ({source}); Python does the rest."
    return Move(why=why, tool=interpreter.name, arguments=({"code": code},))


async def _read(turn: Turn) -> Move | None:
    """What running text says, by the model when there is one; only what stands in it is believed."""
    found = merge(done.documents for done in turn.progress.searches())
    about = [document for document in found if relevant(turn.task, document)][:PASSAGES_READ]
    if not about or _is_fact_sheet_miss(turn, about):
        return None
    passages = "\n\n".join(f"{document.title}\n{document.text}" for document in about)
    written = await turn.write(turn.writer.reading(turn.task, passages)) if turn.writer else None
    if written is None or written.value is None:
        return _quote(turn, about)
    answer, quote = str(written.value["answer"]).strip(), str(written.value["quote"]).strip()
    if not written.value["found"] or not answer or not verifier.grounded(answer, passages):
        return None
    says = [document for document in about if verifier.grounded(answer, f"{document.title}\n{document.text}")]
    titles = ", ".join(dict.fromkeys(document.title for document in says or about[:1]))
    return Move(why=f"The library says: “{quote}”.", answer=_with_source(answer, titles))


def _is_fact_sheet_miss(turn: Turn, about: Sequence[Document]) -> bool:
    """The question asks for a field that these fact sheets have, but of something else: a model would mix them up."""
    field = asked_field(turn.task, about)
    return field is not None and all(len(document.fields) > 2 and field.value(document) for document in about)


def _quote(turn: Turn, about: Sequence[Document]) -> Move | None:
    """Without a model that reads, the passage itself is the answer."""
    if (best := best_sentence(turn.task, about)) is None:
        return None
    sentence, document = best
    why = "No model is here that could read it; the nearest sentence is quoted."
    return Move(why=why, answer=_with_source(f"“{sentence}”", document.title))


def _after_reply(turn: Turn, call: Call) -> Move | None:
    reply = text_of(call).strip()
    if not succeeded(call) or verifier.spoken(reply) is not None:
        return None
    code, interpreter = verifier.code_in(reply), turn.interpreter()
    if turn.near.kind in COMPUTED and code is not None:  # nobody asked for code: it is a way to the answer
        if interpreter is None:
            return None
        why = f"{turn.title(call.call.tool)} wrote a program; Python runs it."
        return Move(why=why, tool=interpreter.name, arguments=({"code": code},))
    if turn.near.kind != CODE:
        return _unchecked(turn, call.call.tool, reply)
    if code is None:
        return None if turn.choice().tool else _unchecked(turn, call.call.tool, reply)
    if interpreter is None:
        return Move(why="Code was written; nothing here may test it.", answer=reply)
    return Move(
        why="Code was written; Python tests that it runs and defines what was asked for.",
        tool=interpreter.name,
        arguments=({"code": verifier.test_program(code, turn.task)},),
    )


def _after_test(turn: Turn, test: Call) -> Move | None:
    reply = next((call for call in reversed(turn.progress.calls) if not is_test(call)), None)
    if reply is None or not succeeded(test) or verifier.usable(text_of(test)) is not None:
        return None
    return Move(why="The code runs and defines what was asked for.", answer=text_of(reply).strip())


def _unchecked(turn: Turn, tool: str, reply: str) -> Move:
    if turn.near.kind == TEXT:
        return Move(why=f"{turn.title(tool)} wrote it.", answer=reply)
    boxed = _BOXED.findall(reply)
    answer = f"{boxed[-1]}\n\n{reply}" if boxed else reply
    note = f"Not checked: this is what {turn.title(tool)} remembers or reckons, without a source."
    return Move(why=f"{turn.title(tool)} answered; there is nothing to check it with.", answer=f"{answer}\n\n{note}")
