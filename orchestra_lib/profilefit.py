"""Profiles fitted to recorded runs: how often a tool was right by kind of task, what its calls cost and took.

What is unknown stays unknown: a call that nothing can grade is counted and taken for neither right nor wrong, a kind
that was never graded has no skill, a call without a price has no cost.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from statistics import median, pstdev

from orchestra_lib.calibration import Share, share
from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.judge.checks import compare, compare_by_itself
from orchestra_lib.pricing import Price, cost_usd, total, total_tokens
from orchestra_lib.profile import ANY, Profile, Spread
from orchestra_lib.record import record
from orchestra_lib.simulated_tasks import find
from orchestra_lib.tool import CallStatus, ToolKind, ToolSpec
from orchestra_lib.trajectory import Call, Trajectory

KindOf = Callable[[Trajectory], tuple[str, str] | None]
"""Kind and difficulty of a run's task; None where nobody says."""

_Z = 1.959963984540054
_RAN = (CallStatus.OK, CallStatus.ERROR, CallStatus.TIMEOUT)


@record
class Quantiles:
    """What was seen of a quantity: `of` values, their tenth, fiftieth and ninetieth percentile.

    `low` to `high` is where the true median lies with 95 % confidence, by order statistics; None for fewer than six.
    `sigma` is the standard deviation of the logarithms of those above 0.
    """

    of: int
    p10: float
    p50: float
    p90: float
    low: float | None
    high: float | None
    sigma: float


@record
class Fitted:
    """One tool as the runs show it.

    `skills` are shares of right answers by kind and difficulty. `unknown` counts answers that nothing could grade,
    `failed` calls that brought none, `unpriced` calls whose cost is unknown; `cost_usd` is of one call. `price` is
    that of the latest run, None where its table has none.
    """

    spec: ToolSpec
    calls: int
    skills: Mapping[str, Mapping[str, Share]]
    unknown: int
    failed: int
    unpriced: int
    cost_usd: Quantiles | None
    latency_s: Quantiles | None
    answer_tokens: Quantiles | None
    price: Price | None


@record
class Fit:
    """The tools of some runs; `unplaced` of the `runs` have a task of a kind that nobody says and are left out."""

    runs: int
    unplaced: int
    tools: tuple[Fitted, ...] = field(default_factory=tuple)


def by_simulation(trajectory: Trajectory) -> tuple[str, str] | None:
    """Kind and difficulty of a simulated task."""
    known = find(trajectory.setting.task.text)
    return None if known is None else (known.kind, known.difficulty)


def by_domain(trajectory: Trajectory) -> tuple[str, str] | None:
    """The domain of an assignment as a kind."""
    assigned = trajectory.setting.assigned
    return None if assigned is None else (assigned.domain, ANY)


def by_tags(tags: Mapping[str, Sequence[str]]) -> KindOf:
    """The one tag of a run as its kind, `kind/difficulty` if it has a slash; of several the one after `kind:`.

    `tags` are by run. A run without, or with several that cannot be told apart, has no kind.
    """

    def kind_of(trajectory: Trajectory) -> tuple[str, str] | None:
        own = tags.get(trajectory.id, ())
        named = [tag.removeprefix("kind:") for tag in own if tag.startswith("kind:")] or list(own)
        if len(named) != 1:
            return None
        kind, _, difficulty = named[0].partition("/")
        return "-".join(kind.split()), "-".join(difficulty.split()) or ANY

    return kind_of


def fit(trajectories: Iterable[Trajectory], kind_of: KindOf, *, tools: Sequence[str] | None = None) -> Fit:
    """The tools that answer (specialists and generalists, or those named) as these runs show them, by name.

    An answer is right when it agrees with the reference of the task; without one, when it was the only call of a run
    that was graded. Blocks for checks of expressions.
    """
    seen: dict[str, _Seen] = {}
    runs = unplaced = 0
    for trajectory in trajectories:
        runs += 1
        place = kind_of(trajectory)
        if place is None:
            unplaced += 1
            continue
        specs = {spec.name: spec for spec in trajectory.setting.tools}
        ran = [call for call in trajectory.calls if call.observation and call.observation.status in _RAN]
        for call in ran:
            spec = specs.get(call.call.tool)
            if spec is not None and (spec.name in tools if tools is not None else _answers(spec)):
                one = seen.setdefault(spec.name, _Seen(spec))
                one.take(trajectory, call, place, sole=len(ran) == 1)
    return Fit(runs=runs, unplaced=unplaced, tools=tuple(seen[name].fitted() for name in sorted(seen)))


def to_profile(fitted: Fitted, name: str, *, source: str) -> Profile:
    """A profile of what was seen; kinds that were never graded stay out of it.

    Raises `BadInput` when the runs give no price or no time, which a profile must state.
    """
    missing = [
        what
        for what, known in (("price", fitted.price), ("time", fitted.latency_s), ("tokens", fitted.answer_tokens))
        if known is None
    ]
    if missing or fitted.price is None or fitted.latency_s is None or fitted.answer_tokens is None:
        raise BadInput(f"{fitted.spec.name}: the runs know no {' and no '.join(missing)} of it, so it has no profile")
    skills = {
        kind: {name: round(one.rate, 4) for name, one in by_difficulty.items() if one.rate is not None}
        for kind, by_difficulty in fitted.skills.items()
    }
    return Profile(
        name=name,
        title=fitted.spec.title.removesuffix(" (simulated)"),
        kind=fitted.spec.kind if fitted.spec.kind is not ToolKind.BASIC else ToolKind.SPECIALIST,
        skills={kind: chances for kind, chances in skills.items() if chances},
        price=fitted.price,
        latency=_spread(fitted.latency_s),
        answer_tokens=_spread(fitted.answer_tokens),
        fault_rate=round(fitted.failed / fitted.calls, 4),
        anchored={"all figures": source},
    )


def _answers(spec: ToolSpec) -> bool:
    return spec.kind in (ToolKind.SPECIALIST, ToolKind.GENERALIST)


class _Seen:
    """What was seen of one tool so far."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec
        self.calls = self.failed = self.unknown = 0
        self.price: Price | None = None
        self._latest: object = None
        self._verdicts: dict[tuple[str, str], list[bool]] = defaultdict(list)
        self._costs: list[float | None] = []
        self._seconds: list[float] = []
        self._tokens: list[int] = []

    def take(self, trajectory: Trajectory, call: Call, place: tuple[str, str], *, sole: bool) -> None:
        """Count one call that ran."""
        setting = trajectory.setting
        assert call.observation is not None
        self.calls += 1
        started = (setting.started_at, setting.run_id)
        if self._latest is None or started >= self._latest:  # type: ignore[operator]
            self._latest, self.price = started, setting.prices.find(self.spec.priced_as)
        self._costs.append(total(cost_usd(one, setting.prices.find(one.priced_as)) for one in call.attempts))
        if setting.timed:
            stated = math.fsum(one.wall_s for one in call.attempts)
            self._seconds.append(stated if self.spec.states_its_time else call.observation.latency_s)
        if call.observation.status is not CallStatus.OK:
            self.failed += 1
            return
        tokens = total_tokens(one.usage.output_tokens if one.usage else None for one in call.attempts if one.billed)
        if tokens:
            self._tokens.append(tokens)
        right = _is_right(trajectory, call, sole=sole)
        if right is None:
            self.unknown += 1
        else:
            self._verdicts[place].append(right)

    def fitted(self) -> Fitted:
        skills: dict[str, dict[str, Share]] = defaultdict(dict)
        for (kind, difficulty), verdicts in sorted(self._verdicts.items()):
            skills[kind][difficulty] = share(sum(verdicts), len(verdicts))
        costs = [cost for cost in self._costs if cost is not None]
        return Fitted(
            spec=self.spec,
            calls=self.calls,
            skills=dict(skills),
            unknown=self.unknown,
            failed=self.failed,
            unpriced=len(self._costs) - len(costs),
            cost_usd=quantiles(costs),
            latency_s=quantiles(self._seconds),
            answer_tokens=quantiles(self._tokens),
            price=self.price,
        )


def _is_right(trajectory: Trajectory, call: Call, *, sole: bool) -> bool | None:
    """Whether a call brought the right answer; None where nothing tells."""
    task, seen = trajectory.setting.task, call.observation
    if task.reference is None or (task.check is not None and not task.check.needs_reference):
        return trajectory.outcome if sole else None
    if seen is None or seen.full is not None:
        return None
    try:
        if task.check is not None:
            return compare(task.check, seen.text, task.reference).outcome
        return compare_by_itself(seen.text, task.reference)[1].outcome
    except (BadInput, WorldFault):
        return None


def quantiles(values: Sequence[float]) -> Quantiles | None:
    """What these values show; None for none."""
    if not values:
        return None
    ordered = sorted(values)
    n = len(ordered)
    reach = _Z * math.sqrt(n) / 2
    first, last = math.floor(n / 2 - reach), math.ceil(n / 2 + reach)
    logs = [math.log(value) for value in ordered if value > 0]
    return Quantiles(
        of=n,
        p10=_at(ordered, 0.1),
        p50=median(ordered),
        p90=_at(ordered, 0.9),
        low=ordered[first] if first >= 0 and n >= 6 else None,
        high=ordered[last - 1] if last <= n and n >= 6 else None,
        sigma=pstdev(logs) if len(logs) > 1 else 0.0,
    )


def _at(ordered: Sequence[float], part: float) -> float:
    """A quantile between the nearest two values."""
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _spread(seen: Quantiles) -> Spread:
    return Spread(median=max(round(seen.p50, 4), 0.001), sigma=min(round(seen.sigma, 4), 3.0))
