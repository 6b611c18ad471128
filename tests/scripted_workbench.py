"""A workbench whose orchestrators play scripts with small real tools: real loop, journal and store, no model.

What is played depends on the task: `figures`, `slow`, `hostile`, `fault`, `long`, `parallel`; else two short turns.
"""

import asyncio
import struct
import zlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from judging import Judge

from orchestra_lib.errors import BadInput, Fault, ProviderFault
from orchestra_lib.experts import Experts
from orchestra_lib.generation import Channel, Delta, Estimate, Generation
from orchestra_lib.model.weights import WeightsStatus
from orchestra_lib.orchestrators import Offer
from orchestra_lib.pricing import Attempt, Usage
from orchestra_lib.protocols import PolicySpec, Situation, ToolResult
from orchestra_lib.tool import File, ToolCall, ToolKind, ToolSpec
from orchestra_lib.toolkit.mcp.servers import McpServers
from orchestra_lib.workbench import Workbench

SMALL = "Qwen2.5-Coder-0.5B-Instruct"
BIG = "Qwen2.5-Coder-1.5B-Instruct"
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "${document.title='owned'}{{constructor}} \x1b[31mred\x1b[0m \u202egnp.exe\u202c </div></li> & é 😀 "
    "<style>*{display:none}</style> <svg onload=\"document.title='owned'\"></svg> [go](javascript:document.title=1) "
    "![pixel](http://192.0.2.1/pixel?run=1) <think>so</think> <tool_call>{}</tool_call> List<int> <unknown-tag>"
)
ANYTHING = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class ScriptedTool:
    """A tool that answers with what it was made with, after a while."""

    def __init__(self, spec: ToolSpec, result: ToolResult, *, takes_s: float = 0.05) -> None:
        self.spec, self._result, self._takes_s = spec, result, takes_s

    async def call(self, arguments: Mapping[str, Any], *, run_id: str) -> ToolResult:
        text = str(arguments["text"])
        await asyncio.sleep(60.0 if "slow" in text else self._takes_s)
        if "long" in text:
            return ToolResult(text="\n".join(f"line {n} of a long observation " + "x" * 40 for n in range(3000)))
        if "hostile" in text:
            return ToolResult(text=HOSTILE)
        return self._result

    async def release(self, run_id: str) -> None:
        return None


def spec(name: str, title: str, kind: ToolKind, latency_s: float | None, model: str | None = None) -> ToolSpec:
    return ToolSpec(
        name=name, title=title, description=f"{title} of a test.", parameters=ANYTHING, kind=kind, model=model,
        max_input_tokens=2000, max_output_tokens=500, typical_latency_s=latency_s,
    )  # fmt: skip


def attempt(model: str, tokens_in: int, tokens_out: int, wall_s: float) -> Attempt:
    return Attempt(priced_as=model, usage=Usage(input_tokens=tokens_in, output_tokens=tokens_out), wall_s=wall_s)


def scripted_tools(pace_s: float) -> dict[str, ScriptedTool]:
    passages = "4 passages\nTanzania: population 34.5 million (2000), 66.6 million (2023)\nGermany: 84 million (2023)"
    stdout = "r    = 2.901 % a year\nt    = 8.12 years after 2023\nyear = 2031"
    figure = File(name="figure-1.png", media_type="image/png", data=curve_png())
    down = Fault(where="web_search", kind="provider", message="429 rate limited, 3 attempts, none billed")
    tries = (Attempt(priced_as="local_search", wall_s=2.6 * pace_s, billed=False, error="429"),) * 3
    coded = attempt(SMALL, 904, 300, 4 * pace_s)
    written = attempt(BIG, 1310, 436, 3 * pace_s)
    made = (
        ScriptedTool(spec("local_search", "Local search", ToolKind.BASIC, 0.04), ToolResult(text=passages)),
        ScriptedTool(
            spec("web_search", "Web search", ToolKind.BASIC, 1.9, "local_search"),
            ToolResult(text="429 rate limited: search is unavailable, go on without it.", attempts=tries, fault=down),
            takes_s=8 * pace_s,
        ),
        ScriptedTool(
            spec("code_interpreter", "Code interpreter", ToolKind.BASIC, 1.2),
            ToolResult(text=stdout, files=(figure,)),
            takes_s=2 * pace_s,
        ),
        ScriptedTool(
            spec("coder", "Coder", ToolKind.SPECIALIST, 3.6, SMALL),
            ToolResult(text="Doubling time ln 2 / ln 1.02901 = 24.2 years, so 2031.", attempts=(coded,)),
            takes_s=4 * pace_s,
        ),
        ScriptedTool(
            spec("generalist", "Generalist", ToolKind.GENERALIST, 5.2, BIG),
            ToolResult(text="At a constant 2.9 % a year Tanzania would pass 84 million in 2031.", attempts=(written,)),
            takes_s=5 * pace_s,
        ),
    )
    return {tool.spec.name: tool for tool in made}


class TaskPolicy:
    """Plays the script that the task names."""

    def __init__(self, pace_s: float, protocol: str = "chat") -> None:
        self.spec = PolicySpec(
            name="scripted", protocol=protocol, priced_as=BIG, max_input_tokens=4000, max_output_tokens=400
        )
        self._pace_s = pace_s

    async def act(self, situation: Situation) -> AsyncGenerator[Delta | Generation, None]:
        task, turn = situation.setting.task.text, len(situation.turns)
        words = next((key for key in SCRIPTS if key in task.lower()), "short")
        reasoning, calls, answer = SCRIPTS[words][min(turn, len(SCRIPTS[words]) - 1)]
        if reasoning == "FAULT":
            raise ProviderFault("the endpoint refused the connection; is the server running?")
        for word in reasoning.split(" "):
            yield Delta(channel=Channel.REASONING, text=word + " ")
            await asyncio.sleep(self._pace_s / 6)
        for word in (answer or "").split(" "):
            yield Delta(channel=Channel.CONTENT, text=word + " ")
            await asyncio.sleep(self._pace_s / 6)
        yield Generation(
            raw_text=reasoning,
            reasoning=reasoning,
            content=answer or "",
            calls=tuple(
                ToolCall.of(f"call_{turn + 1}_{n}", tool, {"text": text}) for n, (tool, text) in enumerate(calls)
            ),
            answer=answer,
            attempts=(attempt(BIG, 1400 + 220 * turn, 60 + 9 * turn, self._pace_s),),
            estimates=estimates(calls[0][0]) if calls else (),
        )


def estimates(chosen: str) -> tuple[Estimate, ...]:
    scores = {"code_interpreter": 0.62, "coder": 0.55, "generalist": 0.31, chosen: 0.71}
    made = [
        Estimate(
            tool=tool, chance=score + 0.2, cost_usd=0.0001, latency_s=1.2, score=score, note="7 of 9 near examples"
        )
        for tool, score in scores.items()
    ]
    return (*made, Estimate(tool="web_search", note="needs the live web, which is off"))


Turn = tuple[str, tuple[tuple[str, str], ...], str | None]
CODE = "r = (66.6/34.5)**(1/23) - 1\nt = log(84/66.6)/log(1+r)\nprint(f'r = {r:.3%} a year')\n" + "\n".join(
    f"plt.plot(years[{n}:])" for n in range(11)
)
SCRIPTS: dict[str, list[Turn]] = {
    "figures": [
        ("Find both populations first.", (("local_search", "population of Tanzania and Germany"),), None),
        ("Check the newest figure on the web.", (("web_search", "population Tanzania 2026"),), None),
        ("Fit constant growth and plot where it meets 84.", (("code_interpreter", CODE),), None),
        ("Check the year another way.", (("coder", "From 66.6 M, which year reaches 84 M?"),), None),
        ("Both methods agree. Ask for a short answer.", (("generalist", "State the year and the assumption."),), None),
        ("Answer.", (), "At a constant 2.9 % a year Tanzania would pass 84 million in 2031. Both methods agree."),
    ],
    "slow": [
        ("Look it up first.", (("local_search", "something quick"),), None),
        ("This one will take long.", (("code_interpreter", "slow: while True: pass"),), None),
    ],
    "hostile": [(HOSTILE, (("local_search", "hostile " + HOSTILE),), None), (HOSTILE, (), HOSTILE)],
    "fault": [("Look it up.", (("local_search", "x"),), None), ("FAULT", (), None)],
    "long": [("Read a lot.", (("local_search", "long"),), None), ("Done.", (), "It was long.")],
    "parallel": [
        ("Two at once.", (("local_search", "a"), ("coder", "b"), ("nothing_like_it", "c")), None),
        ("Done.", (), "Both answered."),
    ],
    "short": [("Compute it.", (("code_interpreter", "print(48213 * 977)"),), None), ("Say it.", (), "47104101")],
}


class ScriptedModels:
    """The judges of the scripted workbench, and weights that are on their way."""

    def __init__(self, judges: Mapping[str, Judge]) -> None:
        self._judges = judges
        self.arriving: tuple[WeightsStatus, ...] = ()

    def names(self) -> tuple[tuple[str, str | None], ...]:
        return (*((name, None) for name in self._judges), ("far/away", "it needs a key"))

    def statuses(self) -> tuple[WeightsStatus, ...]:
        return self.arriving


class ScriptedRoster:
    """The roster of the scripted workbench; one orchestrator waits for weights for ever."""

    def __init__(self, pace_s: float = 0.15) -> None:
        self._tools, self._pace_s = scripted_tools(pace_s), pace_s
        self.judges = {"fair": Judge()}
        self.models = ScriptedModels(self.judges)
        self.mcp = McpServers(Path("no such folder"), {})
        self.experts = Experts(Path("no such folder"), {}, self.chat_model)

    def orchestrators(self) -> tuple[Offer, ...]:
        waits = "its weights are arriving, 682 of 1,100 MB"
        return (
            Offer(name="scripted", title="Scripted", note="plays a script; no model"),
            Offer(name="both", title="Both", note="a script over two protocols", protocols=("chat", "toolorchestra")),
            Offer(name="waiting", title="Free loop 1.5B", note="experimental", off=waits),
        )

    def tools(self) -> tuple[tuple[ToolSpec, str | None], ...]:
        off = spec("sql", "Database", ToolKind.DOMAIN, None)
        return (*((tool.spec, None) for tool in self._tools.values()), (off, "no database is configured"))

    def orchestrator(self, name: str) -> TaskPolicy:
        if name not in {"scripted", "both"}:
            raise BadInput(f"there is no orchestrator {name!r}; use scripted")
        return TaskPolicy(self._pace_s)

    def ensemble(self, name: str) -> tuple[TaskPolicy, tuple[ScriptedTool, ...]]:
        return TaskPolicy(self._pace_s, protocol="toolorchestra"), tuple(self._tools.values())

    def tool(self, name: str) -> ScriptedTool:
        return self._tools[name]

    def remote(self) -> frozenset[str]:
        return frozenset({"web_search"})

    def chat_model(self, name: str) -> Judge:
        if name not in self.judges:
            raise BadInput(f"there is no model {name!r}; there are {', '.join(self.judges)}")
        return self.judges[name]

    async def prepare(self, on_progress: Any = None) -> None:
        return None

    async def close(self) -> None:
        return None


def scripted_workbench(home: Path, *, pace_s: float = 0.15) -> Workbench:
    return Workbench(home, roster=ScriptedRoster(pace_s))  # type: ignore[arg-type]  # the same methods


def curve_png(width: int = 320, height: int = 200) -> bytes:
    """A growing curve in dark blue on white, as a real PNG."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            curve = height - 20 - (height - 50) * (1.03 ** (x / 4) - 1) / (1.03 ** (width / 4) - 1)
            axis = x == 20 or y == height - 20
            rows += b"\x1f\x4e\x8c" if abs(y - curve) < 2 and x > 20 else b"\x99\x99\x99" if axis else b"\xff\xff\xff"
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b""))
    )
