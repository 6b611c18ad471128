"""One sample of an inspect_ai log as a trajectory: conversation, times, ledger and grade."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from orchestra_lib.codec import fingerprint
from orchestra_lib.errors import Fault
from orchestra_lib.grade import Grade
from orchestra_lib.importing.conversation import UNKNOWN_MODEL, Source, tool_specs, trajectory_of
from orchestra_lib.importing.fields import Object, as_object, content_text, number, objects, reasoning_text, text
from orchestra_lib.importing.inspect_events import Events, moment
from orchestra_lib.json_writing import spoken
from orchestra_lib.trajectory import StopReason, Trajectory

_ATTACHMENT = "attachment://"
_LIMITS = {
    "message": StopReason.MAX_TURNS,
    "turn": StopReason.MAX_TURNS,
    "token": StopReason.TOKEN_LIMIT,
    "context": StopReason.TOKEN_LIMIT,
    "time": StopReason.TIME_LIMIT,
    "working": StopReason.TIME_LIMIT,
    "cost": StopReason.COST_LIMIT,
}
"""What a sample's limit is here; any other, such as an operator's, counts as cancelled."""
_VERDICTS: Mapping[Any, bool] = {"C": True, "I": False, "N": False, 1: True, 0: False}
"""What inspect_ai's scores mean: correct, incorrect, no answer; a partial score is no verdict."""


def trajectory_of_sample(sample: Object, evaluation: Object, where: str, now: datetime) -> Trajectory:
    """The sample, ended and graded as its scores say. Raises `BadInput` naming what is wrong."""
    return _Sample(sample, evaluation, where, now).trajectory()


class _Sample:
    """Reads one sample."""

    def __init__(self, sample: Object, evaluation: Object, where: str, now: datetime) -> None:
        self._sample, self._evaluation, self._where = sample, evaluation, where
        self._attachments = as_object(sample.get("attachments") or {}, "attachments")
        self._said = [_resolved(message, self._attachments) for message in objects(sample, "messages")]
        began = moment(sample, "started_at")
        self._events = Events(objects(sample, "events"), began)
        self._began = began or moment(evaluation, "created") or now

    def trajectory(self) -> Trajectory:
        task, epoch = text(self._evaluation, "task") or "inspect", text(self._sample, "epoch")
        named = [text(self._evaluation, "eval_id"), task, text(self._sample, "id"), epoch, text(self._sample, "uuid")]
        made = trajectory_of(
            Source(
                run_id=f"import-{fingerprint(named)[:24]}",
                origin=f"{self._where} (inspect_ai{'' if self._events.timed else ', without times'})",
                started_at=self._began,
                messages=[_openai(message) for message in self._said],
                tools=tool_specs(objects({"tools": _resolved(self._events.tools, self._attachments)}, "tools")),
                model=text(self._evaluation, "model") or UNKNOWN_MODEL,
                timed=self._events.timed,
                head=self._head(),
                task=self._task(),
                task_id=f"{task}/{text(self._sample, 'id')}",
                reference=_reference(self._sample.get("target")),
                moves=self._events.moves(self._said),
                results=self._events.results(self._said),
            )
        )
        return self._graded(self._ended(made))

    def _head(self) -> int:
        """Messages before the model's own: a prompt may hold examples of what a model says."""
        own = (place for place, said in enumerate(self._said) if said.get("role") == "assistant" and _is_own(said))
        return next(own, len(self._said))

    def _task(self) -> str | None:
        given = self._sample.get("input")
        if isinstance(given, str):
            return str(_resolved(given, self._attachments))
        asked = [said for said in self._said[: self._head()] if said.get("role") == "user"]
        return content_text(asked[-1].get("content")) if asked else None

    def _ended(self, made: Trajectory) -> Trajectory:
        """With the end that the sample tells of."""
        ended = moment(self._sample, "completed_at")
        total_s = number(self._sample, "total_time")
        if self._events.timed and (ended is not None or total_s is not None):
            lasted_s = (ended - self._began).total_seconds() if ended is not None else total_s
            made = replace(made, finished_s=max(made.finished_s or 0.0, lasted_s or 0.0))
        error, limit = self._sample.get("error"), self._sample.get("limit")
        if error is not None:
            words = text(as_object(error, "error"), "message") or "an error without words"
            fault = Fault(where="run", kind="inspect", message=words[:2000])
            return replace(made, stop=StopReason.FAULT, answer=None, faults=(fault,))
        if limit is not None:
            kind = text(as_object(limit, "limit"), "type") or ""
            return replace(made, stop=_LIMITS.get(kind, StopReason.CANCELLED))
        output = as_object(self._sample.get("output") or {}, "output")
        answer = content_text(output.get("completion")).strip()
        if made.answer is None and answer:
            return replace(made, stop=StopReason.ANSWERED, answer=_resolved(answer, self._attachments))
        return made

    def _graded(self, made: Trajectory) -> Trajectory:
        scores = as_object(self._sample.get("scores") or {}, "scores")
        at = moment(self._sample, "completed_at") or self._began
        if not scores:
            if not self._events.judged:
                return made
            # What a judge took stands with a grade, and is paid also where it came to none.
            nobody = Grade(at=at, by="inspect", outcome=None, reason="its scorers asked a model and gave no score")
            return replace(made, grades=(nobody,), judge_attempts=self._events.judged)
        grade = _grade({name: as_object(score, f"scores.{name}") for name, score in scores.items()}, at)
        return replace(made, outcome=grade.outcome, grades=(grade,), judge_attempts=self._events.judged)


def _grade(scores: Mapping[str, Object], at: datetime) -> Grade:
    """One verdict of all scorers: where they differ, or one gives none, nobody can say."""
    verdicts = {name: _verdict(score.get("value")) for name, score in scores.items()}
    values = set(verdicts.values())
    told = [f"{name} = {spoken(score.get('value'))}{_explained(score)}" for name, score in scores.items()]
    return Grade(
        at=at,
        by=f"inspect:{next(iter(scores))}" if len(scores) == 1 else "inspect",
        outcome=values.pop() if len(values) == 1 else None,
        reason="; ".join(told)[:2000],
        conditions=verdicts if len(scores) > 1 else {},
    )


def _explained(score: Object) -> str:
    why = score.get("explanation")
    return f" ({why})" if isinstance(why, str) and why else ""


def _verdict(value: Any) -> bool | None:
    """True or False where a score is one, None for anything between or beside."""
    return _VERDICTS.get(value) if isinstance(value, str | bool | int | float) else None


def _openai(said: Object) -> dict[str, Any]:
    """A message in OpenAI's form, its parts as text."""
    content = said.get("content")
    role = said.get("role")
    made: dict[str, Any] = {"role": role, "content": content_text(content)}
    if role == "assistant":
        if reasoning := reasoning_text(content):
            made["reasoning_content"] = reasoning
        if calls := objects(said, "tool_calls"):
            made["tool_calls"] = [_call(call) for call in calls]
    if role == "tool":
        made["tool_call_id"] = text(said, "tool_call_id")
        error = said.get("error")
        if error is not None and not made["content"]:
            made["content"] = text(as_object(error, "error"), "message") or ""
    return made


def _call(call: Object) -> dict[str, Any]:
    function = {"name": text(call, "function"), "arguments": spoken(call.get("arguments") or {})}
    return {"id": text(call, "id"), "type": "function", "function": function}


def _is_own(said: Object) -> bool:
    return said.get("source") != "input"


def _reference(target: Any) -> str | None:
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else spoken(target) if target else None
    return target if isinstance(target, str) and target else None


def _resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """The value with every reference to an attachment replaced by it."""
    if isinstance(value, str):
        return attachments.get(value.removeprefix(_ATTACHMENT), value) if value.startswith(_ATTACHMENT) else value
    if isinstance(value, dict):
        return {key: _resolved(part, attachments) for key, part in value.items()}
    return [_resolved(part, attachments) for part in value] if isinstance(value, list) else value
