"""Keys and values of many rollouts: each prompt once, and a row of its own for all that comes after.

Attention is written out here: the library's would read a prompt's keys again for each rollout of its group, and
reading them is what sampling from a small network spends its time on. Shapes stand in suffixes: P prompts, B rows in
a pass, N new tokens of each, H heads with keys of their own, R queries of such a head (N for each head that shares
it), D numbers of a head, C tokens of a prompt, S tokens after it, M rows of a prompt.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from orchestra_lib.errors import BadInput

_NAME = "orchestra_rows"
_CHUNK = 512
"""So many new tokens of a row go through the network at once."""
_GROWTH = 64


class Line(Protocol):
    """One rollout's tokens: `prefix` is the prompt but for its last, `suffix` the rest; `cached` of that is read."""

    prefix: tuple[int, ...]
    suffix: list[int]
    cached: int


@dataclass(slots=True, eq=False)
class _Nobody:
    """A row that is free at the next arrangement."""

    prefix: tuple[int, ...]
    suffix: list[int]
    cached: int = 0


@dataclass(slots=True, eq=False)
class _Pass:
    """What attention needs to know of one pass over rows: where they begin, where their new tokens stand, how long the
    longest then is, and what is not to be looked at."""

    first: int
    at_B_N: Tensor
    length: int
    sharing: "_Sharing"
    bias_B_1_1_N_X: Tensor


@dataclass(slots=True, eq=False)
class _Sharing:
    """Which rows read which prompt: `rows_P_M` (padded with 0), and where each row then stands in that."""

    rows_P_M: Tensor
    place_B: Tensor
    length_B: Tensor
    mask_B_C: Tensor


class PrefixedRows:
    """The cache of one network. Rows stand in an order of our choosing, those that are sampled now first."""

    def __init__(self, network: Any) -> None:
        """Raises `BadInput` for a network whose layers do not all attend to everything."""
        self._core = network.get_decoder()
        kinds = set(getattr(self._core.config, "layer_types", None) or ["full_attention"])
        if kinds != {"full_attention"}:
            raise BadInput(
                f"the policy has layers of {', '.join(sorted(kinds))}; sampling here knows full attention only, "
                "so sample with a vLLM server (vllm_url)"
            )
        ALL_ATTENTION_FUNCTIONS.register(_NAME, _attend)
        self._lines: list[Line] = []
        self._prompts: dict[tuple[int, ...], int] = {}
        self._sharing: tuple[int, _Sharing] | None = None
        self._pass: _Pass | None = None
        self.clear()

    @property
    def _device(self) -> torch.device:
        """Where the network is now: a trainer moves it after this was made."""
        device: torch.device = next(self._core.parameters()).device
        return device

    def clear(self) -> None:
        """Forget everything, and free its memory."""
        self._lines, self._prompts, self._sharing = [], {}, None
        self._prompt_keys: dict[int, Tensor] = {}
        self._prompt_values: dict[int, Tensor] = {}
        self._keys: dict[int, Tensor] = {}
        self._values: dict[int, Tensor] = {}

    def drop(self, line: Line) -> None:
        """Forget a rollout; its row is free when rows are next arranged."""
        self._lines = [_Nobody(one.prefix, [0]) if one is line else one for one in self._lines]
        if all(isinstance(one, _Nobody) for one in self._lines):
            self.clear()

    def arrange(self, lines: Sequence[Line]) -> None:
        """Put the rows of these first, others that live behind them; prompts that are new go through the network."""
        here = {id(line): at for at, line in enumerate(self._lines)}
        chosen = {id(line) for line in lines}
        idle = [line for line in self._lines if id(line) not in chosen and not isinstance(line, _Nobody)]
        self._lines = [*lines, *idle]
        order = torch.tensor([here.get(id(line), 0) for line in self._lines], device=self._device)
        for kept in (self._keys, self._values):
            for layer, rows in kept.items():
                kept[layer] = rows.index_select(0, order)
        self._sharing = None
        self._read_prompts(list(dict.fromkeys(line.prefix for line in self._lines)))

    def extend(self, lines: Sequence[Line]) -> None:
        """Read all but the last token of these, which stand side by side."""
        first = next((at for at, line in enumerate(self._lines) if lines and line is lines[0]), 0)
        while True:
            news = [line.suffix[line.cached : -1][:_CHUNK] for line in lines]
            width = max(map(len, news), default=0)
            if width == 0:
                return
            # What is read beyond the end of a shorter one stands behind its tokens, where nothing looks before it
            # is written over.
            self._forward(first, lines, [new + [0] * (width - len(new)) for new in news])
            for line, new in zip(lines, news, strict=True):
                line.cached += len(new)

    def advance(self, lines: Sequence[Line]) -> Tensor:
        """Read the last token of each, which stand first in this order but for gaps; the hidden states after it."""
        at = {id(line): place for place, line in enumerate(self._lines)}
        rows = [at[id(line)] for line in lines]
        passing = self._lines[: rows[-1] + 1]
        hidden = self._forward(0, passing, [[line.suffix[-1]] for line in passing])[:, -1]
        for line in lines:
            line.cached += 1
        return hidden if len(passing) == len(rows) else hidden[torch.tensor(rows, device=self._device)]

    def _read_prompts(self, wanted: list[tuple[int, ...]]) -> None:
        new = [prompt for prompt in wanted if prompt not in self._prompts]
        if not new and len(wanted) == len(self._prompts):
            return
        kept = [prompt for prompt in wanted if prompt in self._prompts]
        old_keys, old_values = self._prompt_keys, self._prompt_values
        if new and (width := max(map(len, new))):
            self._pass, self._prompt_keys, self._prompt_values = None, {}, {}
            padded = torch.tensor([[*prompt, *[0] * (width - len(prompt))] for prompt in new], device=self._device)
            self._through(padded, torch.arange(width, device=self._device)[None])
        if kept:
            order = torch.tensor([self._prompts[prompt] for prompt in kept], device=self._device)
            self._prompt_keys = _joined(old_keys, order, self._prompt_keys if new else {})
            self._prompt_values = _joined(old_values, order, self._prompt_values if new else {})
        self._prompts = {prompt: at for at, prompt in enumerate([*kept, *new])}

    def _forward(self, first: int, lines: Sequence[Line], tokens: list[list[int]]) -> Tensor:
        cached = torch.tensor([line.cached for line in lines], device=self._device)
        at = cached[:, None] + torch.arange(len(tokens[0]), device=self._device)
        length = int(at.max()) + 1
        sharing = self._shared_by(first, lines)
        seen = torch.arange(length, device=self._device) <= at[:, :, None]
        told = sharing.mask_B_C[:, None].expand(-1, seen.shape[1], -1)
        bias = torch.where(torch.cat([told, seen], dim=-1), 0.0, -torch.inf)
        self._pass = _Pass(first, at, length, sharing, bias[:, None, None])
        return self._through(torch.tensor(tokens, device=self._device), sharing.length_B[:, None] + at)

    def _through(self, ids: Tensor, positions: Tensor) -> Tensor:
        with self._own_attention():
            output = self._core(
                input_ids=ids,
                position_ids=positions,
                attention_mask=torch.ones(1, 1, 1, 1, dtype=torch.bool, device=self._device),  # ours is in the pass
                use_cache=False,
                orchestra_rows=self,
            )
        hidden: Tensor = output.last_hidden_state
        return hidden

    @contextmanager
    def _own_attention(self) -> Iterator[None]:
        config = self._core.config
        usual = config._attn_implementation
        config._attn_implementation = _NAME
        try:
            yield
        finally:
            config._attn_implementation = usual

    def _shared_by(self, first: int, lines: Sequence[Line]) -> _Sharing:
        """The same for every token of one arrangement."""
        if first == 0 and self._sharing is not None and self._sharing[0] == len(lines):
            return self._sharing[1]
        members: list[list[int]] = [[] for _ in self._prompts]
        of = [self._prompts[line.prefix] for line in lines]
        where = []
        for row, prompt in enumerate(of):
            where.append((prompt, len(members[prompt])))
            members[prompt].append(row)
        most = max(map(len, members))
        lengths = torch.tensor([len(line.prefix) for line in lines], device=self._device)
        # A prompt that is gone may have left the kept ones padded to its length.
        width = next((keys.shape[2] for keys in self._prompt_keys.values()), 0)
        sharing = _Sharing(
            rows_P_M=torch.tensor([[*rows, *[0] * (most - len(rows))] for rows in members], device=self._device),
            place_B=torch.tensor([prompt * most + place for prompt, place in where], device=self._device),
            length_B=lengths,
            mask_B_C=torch.arange(width, device=self._device) < lengths[:, None],
        )
        if first == 0:
            self._sharing = (len(lines), sharing)
        return sharing

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
        """Attention of one layer in the pass that is under way; keys and values are kept."""
        now = self._pass
        if now is None:
            self._prompt_keys[layer], self._prompt_values[layer] = key, value
            shared = query.shape[1] != key.shape[1]
            return functional.scaled_dot_product_attention(
                query, key, value, is_causal=True, scale=scaling, enable_gqa=shared
            )
        length, prompted = now.length, layer in self._prompt_keys
        keys = self._written(self._keys, layer, key, now)[:, :, :length]
        values = self._written(self._values, layer, value, now)[:, :, :length]
        batch, heads, news, size = query.shape
        own = key.shape[1]
        query = (query * scaling).reshape(batch, own, heads // own * news, size)
        scores = query @ keys.transpose(-1, -2)
        if prompted:
            of_prompt = _in_groups(query, now.sharing) @ self._prompt_keys[layer].transpose(-1, -2)
            scores = torch.cat([_in_rows(of_prompt, now.sharing, query.shape[2]), scores], dim=-1)
        scores = scores.view(batch, own, heads // own, news, -1) + now.bias_B_1_1_N_X
        weights = torch.softmax(scores.float(), dim=-1).to(query.dtype).view(batch, own, heads // own * news, -1)
        found = weights[..., -length:] @ values
        if prompted:
            grouped = _in_groups(weights[..., :-length], now.sharing) @ self._prompt_values[layer]
            found = found + _in_rows(grouped, now.sharing, query.shape[2])
        return found.view(batch, heads, news, size)

    def _written(self, kept: dict[int, Tensor], layer: int, new: Tensor, now: _Pass) -> Tensor:
        """The rows of a pass with what is new in them."""
        batch, heads, _, size = new.shape
        length = now.length
        store = kept.get(layer)
        if store is None:
            store = new.new_zeros(len(self._lines), heads, length + _GROWTH, size)
        elif store.shape[2] < length:
            store = functional.pad(store, (0, 0, 0, length + _GROWTH - store.shape[2]))
        kept[layer] = store
        rows = store[now.first : now.first + batch]
        rows[torch.arange(batch, device=new.device)[:, None], :, now.at_B_N] = new.transpose(1, 2)
        return rows


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, *, scaling: float,
    orchestra_rows: PrefixedRows, **_: Any,
) -> tuple[Tensor, None]:  # fmt: skip
    """What the library calls in every layer in place of its own attention."""
    found = orchestra_rows.attend(module.layer_idx, query, key, value, scaling)
    return found.transpose(1, 2).contiguous(), None


def _in_groups(rows_B_H_R_X: Tensor, sharing: _Sharing) -> Tensor:
    """Rows that read the same prompt side by side: P, H, M x R, X."""
    prompts, members = sharing.rows_P_M.shape
    _, heads, queries, size = rows_B_H_R_X.shape
    grouped = rows_B_H_R_X[sharing.rows_P_M.view(-1)].view(prompts, members, heads, queries, size)
    return grouped.transpose(1, 2).reshape(prompts, heads, members * queries, size)


def _in_rows(grouped_P_H_MR_X: Tensor, sharing: _Sharing, queries: int) -> Tensor:
    """The inverse."""
    prompts, members = sharing.rows_P_M.shape
    heads, size = grouped_P_H_MR_X.shape[1], grouped_P_H_MR_X.shape[-1]
    rows = grouped_P_H_MR_X.view(prompts, heads, members, queries, size).transpose(1, 2)
    return rows.reshape(prompts * members, heads, queries, size)[sharing.place_B]


def _joined(old: dict[int, Tensor], order: Tensor, new: dict[int, Tensor]) -> dict[int, Tensor]:
    """Prompts that stay, before those that are new, padded to one length."""
    joined = {}
    for layer, rows in old.items():
        parts = [rows.index_select(0, order), *([new[layer]] if layer in new else [])]
        width = max(part.shape[2] for part in parts)
        joined[layer] = torch.cat([functional.pad(part, (0, 0, 0, width - part.shape[2])) for part in parts])
    return joined
