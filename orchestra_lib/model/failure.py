"""What went wrong between us and a model endpoint, as one line that names the address and the remedy.

Nothing that a server wrote is trusted: its words are cut, flattened to one line and searched
for the key; an HTML page is never quoted.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from orchestra_lib.model.reply import BrokenStream
from orchestra_lib.record import record

if TYPE_CHECKING:
    import openai

MAX_QUOTE = 200
_RETRIED = frozenset({408, 409, 429})
_REMEDIES = {
    400: "the server does not accept this request; check the model's options",
    401: "set a valid key in {key}",
    402: "the account has no credit; top it up",
    403: "the key in {key} has no access to this model",
    404: "check the model name, and that the address ends in /v1",
    413: "the conversation is too long for this model; ask for less at once, or choose one with a longer context",
    429: "the server is busy or the quota is used up; try later",
}
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context|context (length|window|size)|prompt is too long"
    r"|input (token count|is too long)|reduce the length|max_new_tokens. must be",
    re.I,
)
"""How OpenAI, vLLM, OpenRouter, llama.cpp, Anthropic, Google and Together say that a conversation is too long."""


@record
class Failure:
    """One failed try. `wait_s` is what the server asked for (Retry-After), None when it said nothing.

    `too_long`: the conversation exceeds the model's context.
    """

    message: str
    retryable: bool
    wait_s: float | None = None
    too_long: bool = False


@record
class Address:
    """What messages may say of an endpoint: address, model and the key's variable, never the key itself."""

    base_url: str
    model: str
    key_name: str
    secret: str | None = None

    @property
    def shown(self) -> str:
        """The address without a user name or password in it."""
        parts = urlsplit(self.base_url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()

    def quote(self, text: object) -> str:
        """The server's own words, made safe to show; empty when they are HTML or nothing."""
        if not isinstance(text, str) or re.search(r"<\s*(!doctype|html|head|body|script|div|p|h1)\b", text, re.I):
            return ""
        hidden = text.replace(self.secret, "[key]") if self.secret else text
        line = " ".join("".join(c if c.isprintable() else " " for c in hidden[: 4 * MAX_QUOTE]).split())
        return line if len(line) <= MAX_QUOTE else line[: MAX_QUOTE - 1] + "…"


def failure_of(error: Exception, address: Address) -> Failure:
    """Read an error of the client library, of the clock or of a broken stream."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return _refused(error, address)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return Failure(message=f"{address.shown} did not answer in time; raise the timeout", retryable=True)
    if isinstance(error, openai.APIConnectionError):
        return _unreachable(error, address)
    if isinstance(error, openai.APIError):
        said, too_long = address.quote(error.message), _is_too_long(error.message, error.body)
        message = f"{address.shown} stopped with an error: {said or 'no reason given'}"
        return Failure(message=message, retryable=not too_long, too_long=too_long)
    return Failure(
        message=f"{address.shown} sent no chat reply ({_reason(error)}); is it an OpenAI-compatible server?",
        retryable=False,
    )


def _reason(error: Exception) -> str:
    # Only a `BrokenStream` is worded by us; a JSON error would quote what the server sent.
    return str(error) if isinstance(error, BrokenStream) else "it is not JSON"


def _refused(error: "openai.APIStatusError", address: Address) -> Failure:
    code, body = error.status_code, _error_of(error.body)
    words = body.get("message") if isinstance(body, dict) else body
    too_long = code == 413 or (code not in _RETRIED and _is_too_long(words, body))
    said = address.quote(words)
    remedy = _REMEDIES.get(
        413 if too_long else code, "the server failed; try later" if code >= 500 else "check the address"
    ).format(key=address.key_name)
    quoted = f": {said}" if said else ""
    return Failure(
        message=f"{address.shown} answered HTTP {code} for model {address.model!r}{quoted} ({remedy})",
        retryable=not too_long and (code in _RETRIED or code >= 500),
        wait_s=retry_after(error.response.headers.get("retry-after")),
        too_long=too_long,
    )


def _error_of(body: object) -> object:
    """What an error page is about; Google wraps it in a list."""
    first = body[0] if isinstance(body, list) and body else body
    return first["error"] if isinstance(first, dict) and isinstance(first.get("error"), dict) else first


def _is_too_long(words: object, body: object) -> bool:
    codes = [body.get(name) for name in ("code", "type")] if isinstance(body, dict) else []
    return any(isinstance(said, str) and _TOO_LONG.search(said[: 4 * MAX_QUOTE]) for said in (words, *codes))


def _unreachable(error: "openai.APIConnectionError", address: Address) -> Failure:
    reason = address.quote(str(error.__cause__ or "")) or type(error.__cause__ or error).__name__
    return Failure(
        message=f"{address.shown} cannot be reached or broke off ({reason}); check the address and that it runs",
        retryable=True,
    )


def retry_after(header: str | None) -> float | None:
    """Seconds from a Retry-After header, a number or an HTTP date; None when absent or unreadable."""
    if header is None:
        return None
    try:
        return max(0.0, float(header)) if header.strip().replace(".", "", 1).isdigit() else _until(header)
    except (ValueError, TypeError, OverflowError):
        return None


def _until(header: str) -> float:
    date = parsedate_to_datetime(header)
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
