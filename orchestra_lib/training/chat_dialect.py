"""The dialect of a pretrained chat model: its own tokenizer and chat template, calls as hermes boxes.

Only what is new is ever turned into ids: the prompt once, then after each turn the results behind it. What the
model sampled stays as it was sampled, also where the tokenizer would write the same text with other ids, and so does
the reasoning of earlier turns, which the app's conversation leaves out (`chat`): a prefix that changed would
no longer be the one whose probabilities were recorded. That asks for a template that renders earlier messages
alike whatever follows; where a model's own does not (Qwen3), TRL's training variant of it stands in.

Models whose template knows no tools (SmolLM2) read them in the system text and results as a user's message.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase
from trl.chat_template_utils import (
    get_training_chat_template,
    is_chat_template_prefix_preserving,
    supports_tool_calling,
)

from orchestra_lib import chat
from orchestra_lib.chat import CallStyle
from orchestra_lib.errors import BadInput
from orchestra_lib.generation import Generation
from orchestra_lib.json_writing import spoken
from orchestra_lib.policy.spoken import coerced, numbered
from orchestra_lib.protocols import Situation
from orchestra_lib.reading import read

_ASKED, _SAID = {"role": "user", "content": "?"}, "!"


class ChatDialect:
    """Tokens of a chat model to and from the loop; see `Dialect`.

    `style` is native where the template renders tools, else hermes text. `options` go to the template, such as
    `enable_thinking`. Raises `BadInput` for a tokenizer without a chat template or end token, and for a template that
    cannot be continued without changing what came before.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, options: Mapping[str, Any] | None = None) -> None:
        self._tokenizer, self._options = tokenizer, dict(options or {})
        if not tokenizer.chat_template or tokenizer.eos_token_id is None:
            raise BadInput(
                f"the tokenizer {tokenizer.name_or_path!r} has no chat template or no end token; "
                "training takes an instruct model, not a base model"
            )
        self.eos: int = tokenizer.eos_token_id
        self.pad: int = self.eos if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self.style = CallStyle.NATIVE if supports_tool_calling(tokenizer) else CallStyle.HERMES
        self._template = _continuable(tokenizer, self.style)
        self._control = _apart(tokenizer)
        opening = self._render([_ASKED], prompt=True)
        self._thinking = opening.rfind("<think>") > opening.rfind("</think>")

    def prompt(self, situation: Situation) -> list[int]:
        """The ids of system text, tools, task and wish, up to where the model begins."""
        tools = self._native(situation) if self.style is CallStyle.NATIVE else None
        messages = [self._inert(one) for one in chat.messages(replace(situation, turns=()), self.style)]
        return self._ids(self._render(messages, tools=tools, prompt=True))

    def continuation(self, situation: Situation) -> list[int]:
        """The ids behind the last generation: its end where it was cut, the results or a nudge, the next opening."""
        last = situation.turns[-1]
        told = chat.messages(replace(situation, turns=(last,)), self.style)[3:]  # behind system, user, assistant
        said = [_ASKED, _assistant(native=any(one["role"] == "tool" for one in told))]
        before = self._render(said)
        after = self._render([*said, *map(self._inert, told)], prompt=True)
        if not after.startswith(before):
            raise RuntimeError("the chat template changed what came before; `_continuable` should have refused it")
        end = self._tokenizer.eos_token
        sampled = last.generation.token_ids if last.generation else None
        ended = bool(sampled) and sampled[-1] == self.eos  # type: ignore[index]  # it is not empty
        behind = before[before.rindex(end) + len(end) :] + after[len(before) :]
        return self._ids(behind if ended else end + behind)

    def read(self, ids: Sequence[int], situation: Situation) -> Generation:
        """Calls, or an answer; neither where the end token is missing or the reply holds nothing.

        A call that cannot be read as JSON is a call without arguments, which the loop refuses in words.
        """
        ended = bool(ids) and ids[-1] == self.eos
        raw = self._tokenizer.decode(ids[:-1] if ended else ids, skip_special_tokens=False)
        said = read(raw, boxes=bool(situation.setting.tools), thinking=self._thinking)
        found = [coerced(call, situation.setting.tools) for call in said.calls] if ended else []
        return Generation(
            raw_text=raw,
            reasoning=said.reasoning,
            content=said.content,
            calls=numbered(found, situation),
            answer=said.content or None if ended and not found else None,
            token_ids=tuple(ids),
        )

    def _native(self, situation: Situation) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = json.loads(
            self._taken_apart(chat.inert(spoken(chat.openai_tools(situation.setting))))
        )
        return tools

    def _inert(self, message: Mapping[str, Any]) -> dict[str, Any]:
        return {"role": message["role"], "content": self._taken_apart(message["content"])}

    def _taken_apart(self, text: str) -> str:
        """Text in which no token of the tokenizer's own can frame, end or mark anything."""
        return self._control.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)

    def _render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: bool = False,
    ) -> str:
        text: str = self._tokenizer.apply_chat_template(
            list(messages),
            tools=tools or None,
            add_generation_prompt=prompt,
            tokenize=False,
            chat_template=self._template,
            **self._options,
        )
        return text

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def _assistant(*, native: bool) -> dict[str, Any]:
    """A stand-in for what the model said; only what is behind it is used."""
    said: dict[str, Any] = {"role": "assistant", "content": _SAID}
    if native:
        said["tool_calls"] = [{"type": "function", "function": {"name": "t", "arguments": {}}}]
    return said


def _continuable(tokenizer: PreTrainedTokenizerBase, style: CallStyle) -> str:
    """The tokenizer's template, or TRL's training variant of it where its own rewrites earlier turns."""
    own = tokenizer.chat_template
    if style is CallStyle.HERMES or is_chat_template_prefix_preserving(tokenizer):
        return str(own)
    try:
        return str(get_training_chat_template(tokenizer) or own)
    except (ValueError, TemplateError):
        raise BadInput(
            f"the chat template of {tokenizer.name_or_path!r} rewrites earlier turns, and TRL has no training "
            "variant of it; give the tokenizer a template that renders them alike whatever follows"
        ) from None


def _apart(tokenizer: PreTrainedTokenizerBase) -> re.Pattern[str]:
    """The special tokens, longest first; a call's box is none of them."""
    special = sorted(
        (one.content for one in tokenizer.added_tokens_decoder.values() if one.special), key=len, reverse=True
    )
    return re.compile("|".join(map(re.escape, special)) or r"(?!)")
