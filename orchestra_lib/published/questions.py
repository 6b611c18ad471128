"""Questions with a known answer, from JSONL, JSON or Parquet: FRAMES, GSM8K, GeneralThought, or named columns."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from orchestra_lib.errors import BadInput
from orchestra_lib.published.fields import Fields
from orchestra_lib.published.rows import Row, read_rows, refuse
from orchestra_lib.record import record
from orchestra_lib.task import MAX_TASK_CHARS

_ROLES = ("question", "answer", "id", "subject")
FINAL_MARK = "####"
"""GSM8K writes its reasoning, this mark, and the answer."""


class AnswerForm(StrEnum):
    """Where in its column the answer stands."""

    WHOLE = "whole"
    AFTER_MARK = "after_mark"
    """After the last `####`; what comes before is the reasoning."""


@record
class QuestionForm:
    """Which columns of a file hold what. `id` None, or a row without one, numbers the rows.

    `history` holds earlier messages: a question that follows some cannot be asked alone. `image` holds a picture that
    the question is about: it cannot be asked in words.
    """

    source: str
    question: str = "question"
    answer: str = "answer"
    id: str | None = None
    subject: str | None = None
    history: str | None = None
    image: str | None = None
    answer_form: AnswerForm = AnswerForm.WHOLE


FRAMES = QuestionForm(source="frames", id="id")
GSM8K = QuestionForm(source="gsm8k", answer_form=AnswerForm.AFTER_MARK)
GENERAL_THOUGHT = QuestionForm(
    source="general_thought", id="question_id", answer="reference_answer", subject="task", history="prev_messages"
)


@record
class QuestionRow:
    """One question. `source` is the data set, `subject` what it says the question is about, None when it does not."""

    id: str
    question: str
    answer: str
    source: str
    subject: str | None = None


class Unused(StrEnum):
    """Why a row that can be read is not used."""

    EMPTY = "no question or no answer"
    REPEATED = "repeated"
    CONTINUED = "goes on from earlier messages"
    PICTURED = "needs a picture"


@record
class LeftOut:
    """A row that can be read and is not used, and why; `detail` says it of this very row."""

    where: str
    why: Unused
    detail: str


@record
class Questions:
    """What a file holds. Empty and repeated questions are left out and named."""

    rows: tuple[QuestionRow, ...]
    left_out: tuple[LeftOut, ...] = ()


def load_questions(file: Path, form: QuestionForm | None = None) -> Questions:
    """Read a file of questions; without a form the columns decide (`form_of`).

    A row without a question or an answer, one whose question stood there already, one that goes on from earlier
    messages and one about a picture are left out and named. Raises `BadInput` for rows of another form, naming the
    file, the line and the column; then nothing was read.
    """
    rows = read_rows(file)
    if not rows:
        raise BadInput(f"{file} has no rows; give a file with one question a line")
    form = form or form_of(rows, file)
    _check_columns(rows, form, file)
    left_out: list[LeftOut] = []
    kept: list[tuple[str, QuestionRow]] = []
    refuse(_read(rows, form, kept, left_out))
    refuse(_same_ids(kept))
    return Questions(rows=tuple(row for _, row in kept), left_out=tuple(left_out))


def parse_columns(text: str, source: str) -> QuestionForm:
    """The form that `question=q,answer=a,id=key` names for a source. Raises `BadInput`."""
    named = {}
    for pair in text.split(","):
        role, separator, column = (part.strip() for part in pair.partition("="))
        if role not in _ROLES or not separator or not column:
            raise BadInput(
                f"columns {text!r}: write question=NAME,answer=NAME, and id=NAME or subject=NAME if there are"
            )
        named[role] = column
    return QuestionForm(
        source=source,
        question=named.get("question", "question"),
        answer=named.get("answer", "answer"),
        id=named.get("id"),
        subject=named.get("subject"),
    )


def form_of(rows: Sequence[Row], file: Path) -> QuestionForm:
    """The form that the columns of a file speak for. Raises `BadInput` listing the columns when none does."""
    columns = {name for row in rows for name in row.data}
    if {"question", "reference_answer"} <= columns:
        return GENERAL_THOUGHT
    if not {"question", "answer"} <= columns:
        raise BadInput(
            f"{file} has the columns {', '.join(sorted(columns)) or 'none'}; questions and answers are read from "
            "`question` and `answer`, or name its own columns"
        )
    if all(FINAL_MARK in str(row.data.get("answer")) for row in rows):
        return GSM8K
    if all(str(row.data.get("id", "")).startswith("wiki____") for row in rows):
        return FRAMES
    return QuestionForm(source=file.stem, id="id")


def _check_columns(rows: Sequence[Row], form: QuestionForm, file: Path) -> None:
    columns = {name for row in rows for name in row.data}
    missing = [name for name in (form.question, form.answer) if name not in columns]
    if missing:
        raise BadInput(
            f"{file} has no column {' and no column '.join(map(repr, missing))}; "
            f"it has {', '.join(sorted(columns))}: name the right ones"
        )


def _read(
    rows: Sequence[Row], form: QuestionForm, kept: list[tuple[str, QuestionRow]], left_out: list[LeftOut]
) -> Iterator[str]:
    """Fill `kept` (with places) and `left_out`; yield what is wrong with the rest."""
    seen: dict[str, tuple[str, str]] = {}
    for number, row in enumerate(rows, 1):
        try:
            one = _question(row, form, number)
        except BadInput as error:
            yield str(error)
            continue
        unused = _unused(one, row, form, seen)
        if unused is None:
            seen[_words(one)] = (row.where, one.answer)
            kept.append((row.where, one))
        else:
            left_out.append(unused)


def _words(row: QuestionRow) -> str:
    return " ".join(row.question.split())


def _unused(one: QuestionRow, row: Row, form: QuestionForm, seen: Mapping[str, tuple[str, str]]) -> LeftOut | None:
    if not one.question or not one.answer:
        missing = "answer" if one.question else "question"
        return LeftOut(where=row.where, why=Unused.EMPTY, detail=f"no {missing}")
    if form.history and row.data.get(form.history):
        detail = f"{form.history} holds earlier messages"
        return LeftOut(where=row.where, why=Unused.CONTINUED, detail=detail)
    if form.image and row.data.get(form.image):
        return LeftOut(where=row.where, why=Unused.PICTURED, detail=f"{form.image} holds a picture")
    if (before := seen.get(_words(one))) is not None:
        where, answer = before
        other = "" if answer == one.answer else ", with another answer"
        return LeftOut(where=row.where, why=Unused.REPEATED, detail=f"the question stood at {where}{other}")
    return None


def _question(row: Row, form: QuestionForm, number: int) -> QuestionRow:
    fields = Fields(row.data, row.where)
    question = fields.optional_text(form.question) or ""
    if len(question) > MAX_TASK_CHARS:
        raise BadInput(f"{row.where}: {form.question} has {len(question):,} characters, over {MAX_TASK_CHARS:,}")
    answer = fields.optional_text(form.answer) or ""
    if form.answer_form is AnswerForm.AFTER_MARK and answer.strip():
        _, mark, answer = answer.rpartition(FINAL_MARK)
        if not mark:
            raise BadInput(f"{row.where}: {form.answer} has no {FINAL_MARK} before its final answer")
    named = fields.optional_text(form.id) if form.id else None
    return QuestionRow(
        id=named or f"{form.source}-{number}",
        question=question.strip(),
        answer=answer.strip(),
        source=form.source,
        subject=fields.optional_text(form.subject) if form.subject else None,
    )


def _same_ids(kept: Sequence[tuple[str, QuestionRow]]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for where, row in kept:
        if row.id in seen:
            yield f"{where}: the id {row.id!r} is that of another question, at {seen[row.id]}"
        seen.setdefault(row.id, where)
