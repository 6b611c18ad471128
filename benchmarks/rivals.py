"""The same rollout by the bare client and by other frameworks, for `contestants.py`.

Imports stay inside the functions, so that any interpreter that has a framework can run it.
"""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.rollout_batch import ECHO, QUESTION, Batch, at_once_of


def bare(url: str, folder: Path) -> Batch:
    """The loop that anyone writes first: one `openai` client, whole replies, nothing kept."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

    async def roll(number: int) -> None:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        while True:
            reply = await client.chat.completions.create(model="scripted", messages=messages, tools=[ECHO])
            message = reply.choices[0].message
            if not message.tool_calls:
                return
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                assert call.type == "function"
                messages.append(_echoed(call.id, call.function.arguments))

    return at_once_of(roll)


def bare_streaming(url: str, folder: Path) -> Batch:
    """The same loop with streamed replies, as ours has them."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

    async def roll(number: int) -> None:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        while True:
            stream = await client.chat.completions.create(
                model="scripted",
                messages=messages,
                tools=[ECHO],
                stream=True,
                stream_options={"include_usage": True},
            )
            call_id = name = arguments = ""
            async for chunk in stream:
                for choice in chunk.choices:
                    for call in choice.delta.tool_calls or ():
                        assert call.function
                        call_id, name = call_id or call.id or "", name or call.function.name or ""
                        arguments += call.function.arguments or ""
            if not name:
                return
            made = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            messages += ({"role": "assistant", "tool_calls": [made]}, _echoed(call_id, arguments))

    return at_once_of(roll)


def _echoed(call_id: str, arguments: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": json.loads(arguments)["x"]}


def openai_agents(url: str, folder: Path) -> Batch:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def echo(x: str) -> str:
        """Says a word again."""
        return x

    model = OpenAIChatCompletionsModel(model="scripted", openai_client=AsyncOpenAI(base_url=url, api_key="none"))
    agent = Agent(name="a", instructions=QUESTION, tools=[echo], model=model)
    return at_once_of(lambda number: Runner.run(agent, QUESTION, max_turns=50))


def pydantic_ai(url: str, folder: Path) -> Batch:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=url, api_key="none")))

    @agent.tool_plain
    def echo(x: str) -> str:
        """Says a word again."""
        return x

    return at_once_of(lambda number: agent.run(QUESTION))


def inspect_ai(url: str, folder: Path) -> Batch:
    """With its log, which is what it keeps."""
    os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url, "INSPECT_LOG_DIR": str(folder)}
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import tool

    @tool
    def echo() -> Any:
        async def execute(x: str) -> str:
            """Says a word again.

            Args:
                x: the word
            """
            return x

        return execute

    def batch(rollouts: int, at_once: int) -> None:
        samples = [Sample(input=QUESTION, target="42") for _ in range(rollouts)]
        task = Task(dataset=samples, solver=[use_tools(echo()), generate()], scorer=includes())
        (log,) = eval(
            task,
            model="openai/scripted",
            display="none",
            max_samples=at_once,
            max_connections=at_once,
            log_level="error",
            model_args={"responses_api": False},
        )
        assert log.status == "success", log.error

    return batch


def smolagents(url: str, folder: Path) -> Batch:
    """In threads, since its agents are not async."""
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def echo(x: str) -> str:
        """Says a word again.

        Args:
            x: the word
        """
        return x

    def roll(number: int) -> None:
        model = OpenAIServerModel(model_id="scripted", api_base=url, api_key="none")
        ToolCallingAgent(tools=[echo], model=model, max_steps=30, verbosity_level=0).run(QUESTION)

    def batch(rollouts: int, at_once: int) -> None:
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(roll, range(rollouts)))

    return batch
