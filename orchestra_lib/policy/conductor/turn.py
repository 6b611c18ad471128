"""What the conductor knows in one turn: the episode so far, the examples near the task, who may be used."""

from dataclasses import replace

from orchestra_lib.policy.conductor import calculation, verifier
from orchestra_lib.policy.conductor.answered import LIBRARY, Answered, answer_under
from orchestra_lib.policy.conductor.arguments_writer import ArgumentsWriter
from orchestra_lib.policy.conductor.choice import FORBIDDEN, Choice, choose
from orchestra_lib.policy.conductor.costs import Costs
from orchestra_lib.policy.conductor.estimator import Chance, Estimator
from orchestra_lib.policy.conductor.findings import Calculation, Finding, resolve
from orchestra_lib.policy.conductor.progress import Progress, argument_of, succeeded, text_of
from orchestra_lib.protocols import Situation
from orchestra_lib.tool import ToolKind, ToolSpec
from orchestra_lib.trajectory import Call

LIVE, CODE, TEXT, WORD_PROBLEM = "live", "code", "explain", "word_problem"
KNOWLEDGE = frozenset({LIVE, "lookup", "fact", "multi", "document"})
"""Kinds whose answer is a fact of the world."""
COMPUTED = frozenset({"arithmetic", "date", WORD_PROBLEM})
SURE_OF_CALCULATION = 0.98
MEMORY_OF_NOW = 0.1
"""What is left of a model's chance when the question is about the present."""
WITHOUT_FACTS = 0.1
"""What is left of a program's chance when the question asks for a fact."""
CARE = 0.6
SURE_OF_DOCUMENTS = 0.95
OF_THE_WORKBENCH = 0.1
"""What is left of the chance of all that has not read this workbench's documents, when these answer the question."""


class Turn(Costs):
    """The thinking of one turn about a question."""

    def __init__(
        self,
        situation: Situation,
        estimator: Estimator,
        writer: ArgumentsWriter | None,
        answered: Answered | None = None,
    ) -> None:
        super().__init__(situation)
        self.setting = situation.setting
        self.progress = Progress.of(situation)
        self.task = self.progress.task
        self.near = estimator.near(self.task, self.progress.tools)
        self.writer = writer
        self.heading = answered.heading(self.task) if answered and self.progress.spec(LIBRARY) else ""
        """What the documents of this workbench call the question; empty where they have no such heading."""

    def choice(self) -> Choice:
        """The tools by expected preference reward, those that had their chance ruled out."""
        tried = self.progress.used()
        return choose(self.progress.tools, self.chances(), self.setting.preference, self.setting.prices, tried=tried)

    def chances(self) -> dict[str, Chance]:
        """The estimate for each tool, corrected by what the wording itself says."""
        return {name: self._adjusted(chance) for name, chance in self.near.chances.items()}

    def _adjusted(self, chance: Chance) -> Chance:
        spec = self.progress.spec(chance.tool)
        assert spec is not None
        if self.heading:
            return self._of_documents(chance)
        if argument_of(spec) == "code":
            return self._of_program(chance)
        remembers = spec.kind in (ToolKind.SPECIALIST, ToolKind.GENERALIST)
        if remembers and self.about_now:
            note = f"the question is about now, and a model only remembers; {chance.note}"
            return replace(chance, chance=chance.chance * MEMORY_OF_NOW, note=note)
        return chance

    def _of_documents(self, chance: Chance) -> Chance:
        if chance.tool == LIBRARY:
            return replace(chance, chance=SURE_OF_DOCUMENTS, note=f"the documents answer “{self.heading}”")
        note = f"it has not read the documents of this workbench; {chance.note}"
        return replace(chance, chance=chance.chance * OF_THE_WORKBENCH, note=note)

    def _of_program(self, chance: Chance) -> Chance:
        if self.translation is not None:
            return replace(chance, chance=SURE_OF_CALCULATION, note="the whole question reads as a calculation")
        if self.writer is None:
            return replace(chance, chance=0.0, note="no model is here that could write the program")
        if self.near.kind in KNOWLEDGE:
            note = f"the answer is a fact, and a program knows none; {chance.note}"
            chance = replace(chance, chance=chance.chance * WITHOUT_FACTS, note=note)
        return replace(chance, writer=self.writer.model_name)

    @property
    def translation(self) -> str | None:
        """The task as a program, when it reads as a calculation."""
        return calculation.program_for(self.task)

    @property
    def about_now(self) -> bool:
        """True when only something live can know it."""
        return self.near.kind == LIVE or (self.near.kind in KNOWLEDGE and verifier.is_timely(self.task))

    @property
    def wants_check(self) -> bool:
        """A second way to a word problem, as slow as the first: for who sets quality well above cost and time."""
        preference = self.setting.preference
        cared = preference.outcome - preference.cost - preference.latency >= CARE
        return cared and self.near.kind == WORD_PROBLEM and self.translation is None

    def finding(self) -> Finding:
        """What follows from all searches so far."""
        searches = self.progress.searches()
        if self.heading and (answer := answer_under(self.heading, searches)) is not None:
            return answer
        return resolve(self.task, searches) if searches else None

    def calculation(self) -> Calculation | None:
        """The program that follows from all searches so far, if one does."""
        finding = self.finding()
        return finding if isinstance(finding, Calculation) else None

    def interpreter(self) -> ToolSpec | None:
        """The tool that runs code, unless the user forbids it."""
        runs = (spec for spec in self.progress.tools if argument_of(spec) == "code")
        return next((spec for spec in runs if spec.name not in self.forbidden()), None)

    def forbidden(self) -> frozenset[str]:
        """Tools on offer that the user wants left alone."""
        weight = self.setting.preference.weight
        return frozenset(spec.name for spec in self.progress.tools if weight(spec.name) <= FORBIDDEN)

    def title(self, tool: str) -> str:
        spec = self.progress.spec(tool)
        return spec.title if spec else tool

    def titles(self, tools: frozenset[str]) -> str:
        return ", ".join(self.title(tool) for tool in sorted(tools))

    def failure(self, call: Call) -> str:
        """Why this result is no answer, in a few words."""
        text = text_of(call).strip()
        if succeeded(call):
            return verifier.spoken(text) or "it does not answer the question"
        return text.splitlines()[-1][:160] if text else "it brought nothing"
