"""Weights from the model hub, when it can be reached; a broken transfer goes on where it stopped."""

import os
import threading

import httpx2
from huggingface_hub import get_hf_file_metadata, hf_hub_url

from orchestra_lib.model.draft import Draft, SourceFault, Tick, Weights

DECIDE_S = 3.0
"""How long the hub may take to show that it has the file."""
_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
_IDLE_RETRIES = 3


def offers(weights: Weights, *, within_s: float = DECIDE_S) -> bool:
    """True when the hub answers in time and has a file of the right size."""
    if weights.hub_repo is None or weights.hub_file is None or os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return False
    found: list[bool] = []
    # A thread, since no timeout of a client covers a name service that hangs.
    asking = threading.Thread(target=lambda: found.append(_has(weights, within_s)), daemon=True)
    asking.start()
    asking.join(within_s)
    return found == [True]


def fill(draft: Draft, tick: Tick) -> None:
    """Download the rest of the file. Raises `SourceFault` when the hub stops giving."""
    draft.whole_pieces()  # drops damaged pieces; the tail behind the last whole one is kept and continued
    idle = 0
    while draft.size < draft.weights.bytes:
        before = draft.size
        try:
            _continue(draft, tick)
        except httpx2.HTTPError as error:
            idle = 0 if draft.size > before else idle + 1
            if idle >= _IDLE_RETRIES:
                raise SourceFault(f"the model hub broke off ({type(error).__name__})") from None


def _continue(draft: Draft, tick: Tick) -> None:
    start = draft.size
    headers = {"Range": f"bytes={start}-", "Accept-Encoding": "identity"}
    with (
        httpx2.Client(follow_redirects=True, timeout=_TIMEOUT) as client,
        client.stream("GET", _url(draft.weights), headers=headers) as answer,
    ):
        if answer.status_code == httpx2.codes.OK:
            draft.cut(0)
        elif answer.status_code != httpx2.codes.PARTIAL_CONTENT:
            raise SourceFault(f"the model hub answered HTTP {answer.status_code}")
        elif not answer.headers.get("content-range", "").startswith(f"bytes {start}-"):
            raise SourceFault("the model hub sent another range than asked for")
        for chunk in answer.iter_bytes():  # as they come: a larger buffer would be lost when the transfer breaks
            draft.append(chunk)
            tick(draft.size)
        if draft.size < draft.weights.bytes:
            raise httpx2.ReadError("the transfer ended early")


def _has(weights: Weights, within_s: float) -> bool:
    try:
        about = get_hf_file_metadata(_url(weights), token=False, timeout=within_s)
    except Exception:  # the library's many ways to say no, at any layer, all mean: not from there
        return False
    # The hub tags large files with their SHA-256.
    known_hash = about.etag if about.etag is not None and len(about.etag) == len(weights.sha256) else None
    return about.size == weights.bytes and known_hash in (None, weights.sha256)


def _url(weights: Weights) -> str:
    assert weights.hub_repo is not None
    assert weights.hub_file is not None
    return hf_hub_url(weights.hub_repo, weights.hub_file, endpoint=os.environ.get("HF_ENDPOINT"))
