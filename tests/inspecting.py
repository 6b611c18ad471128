"""An evaluation by inspect_ai with its mock model: `python inspecting.py FOLDER` writes its log there.

Five samples: answered right; wrong by one of two scorers; a tool that fails; a tool that asks another model; a solver
that breaks. One of the scorers asks a model. `pinned/inspect_sums.eval` is such a log, of inspect_ai 0.3.285, less
the paths of the machine that wrote it.
"""

import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, match, scorer
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import ToolError, tool


def said(text=None, call=None, model="mockllm/model", tokens=(40, 8)):
    if call:
        output = ModelOutput.for_tool_call(model, *call, content=text or "")
    else:
        output = ModelOutput.from_content(model, text)
    spent = {"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)}
    output.usage = ModelUsage(**spent, input_tokens_cache_read=5, total_cost=0.001)
    return output


@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: First number.
            y: Second number, which a description of more than a hundred characters tells all that there is to know of.
        """
        if x < 0:
            raise ToolError("no numbers below zero")
        return x + y

    return execute


@tool
def ask():
    async def execute(question: str):
        """Ask an expert.

        Args:
            question: What to ask.
        """
        expert = get_model("mockllm/expert", custom_outputs=[said("forty-two", model="mockllm/expert", tokens=(7, 3))])
        return (await expert.generate(question)).completion

    return execute


@scorer(metrics=[accuracy()])
def judged():
    async def score(state, target):
        judge = get_model("mockllm/judge", custom_outputs=[said("yes", model="mockllm/judge", tokens=(11, 1))])
        verdict = (await judge.generate(f"Is {state.output.completion} right?")).completion
        return Score(value=CORRECT if verdict == "yes" else INCORRECT, explanation="the judge said " + verdict)

    return score


@solver
def breaks_where_asked():
    async def solve(state, _):
        if "break" in state.input_text:
            raise RuntimeError("the solver broke")
        return state

    return solve


def evaluate(folder):
    outputs = [
        said("Adding.", ("add", {"x": 2, "y": 3})), said("5"),
        said("", ("add", {"x": 20, "y": 30})), said("51"),
        said("", ("add", {"x": -1, "y": 1})), said("0"),
        said("", ("ask", {"question": "What is it?"})), said("42"),
    ]  # fmt: skip
    questions = {
        "right": ("What is 2 + 3?", "5"), "wrong": ("What is 20 + 30?", "50"), "failing": ("What is -1 + 1?", "0"),
        "expert": ("What is the answer?", "42"), "broken": ("Please break.", "x"),
    }  # fmt: skip
    samples = [Sample(id=name, input=text, target=target) for name, (text, target) in questions.items()]
    solvers = [breaks_where_asked(), use_tools(add(), ask()), generate()]
    task = Task(dataset=samples, solver=solvers, scorer=[match(), judged()], name="sums")
    (log,) = eval(
        task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=str(folder), max_samples=1,
        display="none", fail_on_error=False,
    )  # fmt: skip
    return log


if __name__ == "__main__":
    evaluate(sys.argv[1])
