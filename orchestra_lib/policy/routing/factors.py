"""The chance of each tool by matrix factorisation, after RouteLLM (arXiv 2406.18665).

There the score of model M on a task q is w . (v_M * (W q + b)), with q the embedding of the task, and the scores of two
models are compared by a logistic function. Here the logistic function of the score and of a bias of the tool is the
chance that it solves the task, since outcomes of single tools are what is recorded. `RANK` is 16 in place of 128: a few
hundred outcomes are known, and not some tens of thousands of battles. W reads the `AXES` first principal axes of the
embeddings. w is a scale of v_M and is left out.
"""

import numpy as np

from orchestra_lib.policy.routing.outcomes import Floats, Table
from orchestra_lib.protocols import Embedder

RANK, AXES = 16, 48
_STEPS, _RATE, _DECAY = 400, 0.02, 2e-3
_BETAS, _TINY = (0.9, 0.999), 1e-8


class Factors:
    """Chances by factors that are fitted to `table` when made: whole-batch Adam, the same lots every time."""

    def __init__(self, table: Table, embedder: Embedder) -> None:
        self.tools, self._embedder = table.tools, embedder
        vectors_ND = embedder.embed(table.texts).astype(float)
        self._axes_DA = np.linalg.svd(vectors_ND, full_matrices=False)[2][:AXES].T
        vectors_NA, dice = vectors_ND @ self._axes_DA, np.random.default_rng(0)
        means_M = np.clip(np.nanmean(table.solved_NM, axis=0), 0.02, 0.98)
        start = [
            dice.normal(0.0, RANK**-0.5, (len(table.tools), RANK)),
            dice.normal(0.0, vectors_NA.shape[1] ** -0.5, (vectors_NA.shape[1], RANK)),
            np.zeros(RANK),
            np.log(means_M / (1.0 - means_M)),
        ]
        self._v_MR, self._w_AR, self._b_R, self._bias_M = _fitted(start, vectors_NA, table.solved_NM)

    def chances(self, text: str) -> Floats:
        """The chance of each of `tools` to solve a task."""
        vector_A = self._embedder.embed([text])[0].astype(float) @ self._axes_DA
        return _logistic((vector_A @ self._w_AR + self._b_R) @ self._v_MR.T + self._bias_M)


def _fitted(parts: list[Floats], vectors_NA: Floats, solved_NM: Floats) -> list[Floats]:
    """The factors of least logistic loss with weight decay."""
    known_NM = np.isfinite(solved_NM)
    wanted_NM = np.where(known_NM, solved_NM, 0.0)
    first, second = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    for step in range(1, _STEPS + 1):
        v_MR, w_AR, b_R, bias_M = parts
        hidden_NR = vectors_NA @ w_AR + b_R
        slope_NM = np.where(known_NM, _logistic(hidden_NR @ v_MR.T + bias_M) - wanted_NM, 0.0) / known_NM.sum()
        back_NR = slope_NM @ v_MR
        slopes = [
            slope_NM.T @ hidden_NR + _DECAY * v_MR,
            vectors_NA.T @ back_NR + _DECAY * w_AR,
            back_NR.sum(axis=0),
            slope_NM.sum(axis=0),
        ]
        for at, slope in enumerate(slopes):
            first[at] = _BETAS[0] * first[at] + (1 - _BETAS[0]) * slope
            second[at] = _BETAS[1] * second[at] + (1 - _BETAS[1]) * slope**2
            mean, spread = first[at] / (1 - _BETAS[0] ** step), second[at] / (1 - _BETAS[1] ** step)
            parts[at] = parts[at] - _RATE * mean / (np.sqrt(spread) + _TINY)
    return parts


def _logistic(score: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * score)))
