"""`orchestra train --dry-run`: what a run would be, worked out without starting it, and what stands in its way.

The plan is made of rows, each a name, a value and how the value came about. A problem is one line with the value and
a remedy; a plan with problems must not be started. What cannot be known here (a server that starts with the job) is a
remark.
"""

from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.version import InvalidVersion, Version

from orchestra_lib.codec import from_data
from orchestra_lib.errors import BadInput
from orchestra_lib.record import record
from orchestra_lib.roster import Roster
from orchestra_lib.training import memory
from orchestra_lib.training.cluster import Cluster
from orchestra_lib.training.sampled_course import SampledSettings
from orchestra_lib.training.settings import Settings
from orchestra_lib.training.shape import Shape, shape_of

VLLM = ("0.22.0", "0.31.0")
"""The versions of vLLM, both ends included, that TRL 1.16 works with."""

PINNED = {"torch": "2.13.0", "transformers": "5.24.0", "trl": "1.16.0", "accelerate": "1.15.0", "peft": "0.21.2"}
"""What the trainer was run with; TRL's hooks are experimental and change between versions."""


@record
class Row:
    """One line of a plan."""

    name: str
    value: str
    how: str = ""


@record
class Plan:
    """The rows by heading, what must be mended first, and what should be known."""

    rows: dict[str, tuple[Row, ...]]
    problems: tuple[str, ...]
    remarks: tuple[str, ...]


def plan(
    settings: Settings, *, answers: Callable[[str], str | None], reachable: Callable[[str], str | None] | None = None
) -> Plan:
    """The plan of a run. Raises `BadInput` where the settings cannot be planned at all.

    `answers` says why an expert's model cannot answer, None when it can; `reachable` the same of a server's address.
    """
    if settings.cluster is None:
        raise BadInput("the settings have no [cluster]; a dry run plans runs on GPUs, others start at once")
    if settings.policy.checkpoint is None:
        raise BadInput('policy.checkpoint names no model; write for example "Qwen/Qwen3-8B"')
    course: SampledSettings = from_data(dict(settings.course), SampledSettings, where="course")
    made = _Planner(settings, course, settings.cluster, shape_of(settings.policy.checkpoint))
    rows = {
        "a step": tuple(made.step()),
        "memory of a training GPU": tuple(made.training()),
        "memory of a sampling GPU": tuple(made.sampling()),
        "exercises": tuple(made.exercises()),
        "experts": tuple(made.experts(answers)),
        "servers": tuple(made.servers(reachable)),
        "versions": tuple(made.versions()),
    }
    return Plan(rows=rows, problems=tuple(made.problems), remarks=tuple(made.remarks))


def can_answer(roster: Roster) -> Callable[[str], str | None]:
    """For `plan`: why a model of this name cannot answer here, None when it can."""

    def answers(name: str) -> str | None:
        try:
            roster.chat_model(name)
        except BadInput as error:
            return str(error)
        return None

    return answers


class _Planner:
    """Works out the rows and notes problems and remarks on the way."""

    def __init__(self, settings: Settings, course: SampledSettings, cluster: Cluster, shape: Shape) -> None:
        self.settings, self.course, self.cluster, self.shape = settings, course, cluster, shape
        self.problems: list[str] = []
        self.remarks: list[str] = []
        grpo = settings.grpo
        self.samples = grpo.prompts * grpo.rollouts
        self.each = self.samples / cluster.processes
        self.micro = grpo.micro_batch or max(1, int(self.each))
        self.context = grpo.context or shape.positions

    def step(self) -> Iterator[Row]:
        """How the rollouts of a step fall on the processes."""
        grpo, processes = self.settings.grpo, self.cluster.processes
        yield Row(name="model", value=f"{self.settings.policy.checkpoint}", how=f"{self.shape.parameters:,} parameters")
        yield Row(
            name="rollouts",
            value=f"{self.samples}",
            how=f"grpo.prompts {grpo.prompts} x grpo.rollouts {grpo.rollouts}",
        )
        yield Row(
            name="training processes",
            value=f"{processes}",
            how=f"cluster.nodes {self.cluster.nodes} x cluster.gpus {self.cluster.gpus}",
        )
        yield Row(
            name="rollouts of a process",
            value=f"{self.each:g}",
            how=f"{self.samples} / {processes}: {grpo.prompts / processes:g} whole groups of {grpo.rollouts}",
        )
        if grpo.prompts % processes:
            self.problems.append(
                f"{grpo.prompts} groups (grpo.prompts) over {processes} processes splits a group, and a reward is made "
                f"of whole groups; take grpo.prompts = {_multiple(grpo.prompts, processes)} or another cluster"
            )
        elif self.each % self.micro:
            self.problems.append(
                f"grpo.micro_batch = {self.micro} does not divide the {self.each:g} rollouts of a process; "
                "take a divisor"
            )
        yield Row(name="micro batches a step", value=f"{self.each / self.micro:g}", how=f"{self.each:g} / {self.micro}")
        yield from self._lengths()

    def _lengths(self) -> Iterator[Row]:
        grpo = self.settings.grpo
        yield Row(
            name="tokens of a rollout, at most",
            value=f"{self.context:,}",
            how=f"{self.context - grpo.max_new_tokens:,} prompt and tool results + {grpo.max_new_tokens:,} of a turn; "
            f"at most {self.course.max_turns} turns",
        )
        yield Row(
            name="tokens of a step, at most",
            value=f"{self.samples * self.context:,}",
            how=f"{self.samples} rollouts x {self.context:,}",
        )
        if self.context > self.shape.positions:
            self.problems.append(
                f"grpo.context = {self.context:,} is more than the {self.shape.positions:,} positions of the model; "
                "shorten it"
            )
        if grpo.max_new_tokens >= self.context:
            self.problems.append(
                f"grpo.max_new_tokens = {grpo.max_new_tokens:,} leaves no room for a prompt within grpo.context = "
                f"{self.context:,}; shorten it"
            )

    def training(self) -> Iterator[Row]:
        """The memory of a training GPU, and whether it is there."""
        if self.settings.policy.dtype != "bfloat16":
            self.problems.append(
                f'policy.dtype = "{self.settings.policy.dtype}" on a cluster; the plan reckons with "bfloat16", take it'
            )
        items = memory.training(self.settings, self.shape, self.cluster, self.micro * self.context)
        yield from self._sum(items)
        needed, there = memory.total(items), self.cluster.gpu_gb
        if needed > there:
            self.problems.append(f"a training GPU needs {needed:.1f} GB and has {there:g}; {self._lighter()}")

    def _lighter(self) -> str:
        """What would help most."""
        if not self.settings.policy.recompute:
            return "take policy.recompute = true"
        if self.micro > 1:
            return f"take grpo.micro_batch = 1 (now {self.micro})"
        if self.cluster.sharding in ("none", "zero2"):
            return f'take cluster.sharding = "zero3" (now "{self.cluster.sharding}")'
        return "shorten grpo.context, take more GPUs (cluster.nodes), or train adapters ([policy.lora])"

    def sampling(self) -> Iterator[Row]:
        """The memory of a sampling GPU, and how many rollouts its cache holds."""
        items = memory.sampling(self.shape, self.cluster)
        yield from self._sum(items)
        if items[-1].gb <= 0:
            self.problems.append(
                f"the model leaves no room for keys and values on a sampling GPU ({items[-1].gb:.1f} GB); raise "
                f"cluster.sampler_tensor = {self.cluster.sampler_tensor}"
            )
            return
        cached = memory.cached_tokens(self.shape, self.cluster)
        whole = cached // self.context
        yield Row(
            name="cached tokens, all GPUs",
            value=f"{cached:,}",
            how=f"{items[-1].gb:.1f} GB x {self.cluster.sampler_gpus} GPUs / {self.shape.cache_bytes:,} bytes a token "
            f"(2 x {self.shape.layers} layers x {self.shape.kv_heads} heads x {self.shape.head} x 2 bytes)",
        )
        yield Row(name="rollouts of full length at once", value=f"{whole}", how=f"{cached:,} / {self.context:,}")
        if whole < 1:
            self.problems.append(f"no rollout of {self.context:,} tokens fits the caches; shorten grpo.context")
        elif whole < self.samples:
            self.remarks.append(
                f"only {whole} of {self.samples} rollouts fit the caches at full length; vLLM lets the others wait, "
                "and most are shorter"
            )

    def experts(self, answers: Callable[[str], str | None]) -> Iterator[Row]:
        """Who stands behind each model of the kit, and who cannot answer."""
        for model, name in self.course.experts.items():
            why = answers(name)
            yield Row(name=model, value=str(name), how=why or "can answer")
            if why is not None:
                self.problems.append(f"course.experts.{model} = {name!r} cannot answer: {why}")

    def exercises(self) -> Iterator[Row]:
        """What is drawn from, and which file is missing."""
        course, grpo = self.course, self.settings.grpo
        for key in ("questions", "tasks"):
            files = getattr(course, key)
            yield Row(name=key, value=f"{len(files)} of one's own", how=", ".join(files) or "what ships")
            self.problems += [
                f"course.{key}: {name} is not there; put the file in place or name another"
                for name in files
                if not Path(name).expanduser().exists()
            ]
        yield Row(
            name="exercises of the run",
            value=f"{grpo.steps * grpo.prompts:,}",
            how=f"grpo.steps {grpo.steps} x {grpo.prompts}; {course.count:,} drawn, {course.qa_share:.0%} questions",
        )
        yield Row(
            name="price regimes", value=f"{len(course.regimes)}", how=f"{', '.join(course.regimes)}, equal chances"
        )

    def servers(self, reachable: Callable[[str], str | None] | None) -> Iterator[Row]:
        """Where the policy is sampled."""
        url = self.settings.vllm_url
        if url is None:
            self.problems.append(
                "vllm_url is not set: a large run samples with vLLM on a node of its own; write for example "
                'vllm_url = "http://SAMPLER:8000"'
            )
            return
        if not url.startswith(("http://", "https://")):
            self.problems.append(f"vllm_url = {url!r} is no address; write http://HOST:PORT")
            return
        why = None if reachable is None else reachable(url)
        state = "not looked for" if reachable is None else "answers" if why is None else "does not answer yet"
        yield Row(
            name="vLLM",
            value=url,
            how=f"{state}; {self.cluster.replicas} copies of {self.cluster.sampler_tensor} GPUs, version "
            f"{self.cluster.vllm}",
        )
        if why is not None:
            self.remarks.append(f"vLLM at {url} does not answer ({why}); the launch files start it before the trainer")

    def versions(self) -> Iterator[Row]:
        """What is installed here beside what the trainer was run with."""
        low, high = VLLM
        try:
            fits = Version(low) <= Version(Version(self.cluster.vllm).base_version) <= Version(high)
        except InvalidVersion:
            fits = False
        here = _installed("vllm") or "not here"
        yield Row(name="vllm", value=self.cluster.vllm, how=f"TRL takes {low} to {high}; installed: {here}")
        if not fits:
            self.problems.append(f"cluster.vllm = {self.cluster.vllm!r}; TRL takes {low} to {high}, take {high}")
        for name, wanted in PINNED.items():
            found = _installed(name)
            yield Row(name=name, value=found or "not here", how=f"run with {wanted}")
            if name == "trl" and found is not None and Version(found).release[:2] != Version(wanted).release[:2]:
                self.problems.append(f"trl {found} is installed and its hooks are private; install {wanted}")
        if self.cluster.sharding.startswith("zero") and _installed("deepspeed") is None:
            self.remarks.append("deepspeed is not installed here; the training nodes need it")
        if _installed("vllm") is None:
            self.remarks.append(
                "vllm is not installed here; both kinds of node need it, as it carries the weights over"
            )

    def _sum(self, items: tuple[memory.Item, ...]) -> Iterator[Row]:
        for item in items:
            yield Row(name=item.name, value=f"{item.gb:.1f} GB", how=item.formula)
        yield Row(
            name="together",
            value=f"{memory.total(items):.1f} GB",
            how=f"of {self.cluster.gpu_gb:g} GB of a {self.cluster.gpu}",
        )


def _multiple(prompts: int, processes: int) -> int:
    return -(-prompts // processes) * processes


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
