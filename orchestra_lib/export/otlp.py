"""Sending the spans of trajectories to an OpenTelemetry collector, by OTLP over HTTP in protobuf.

The exporter is OpenTelemetry's own and follows `OTEL_EXPORTER_OTLP_*`. Everything is counted: what was sent is what
the collector took, and anything else is an error. A batch that was taken in part, a redirect, and an answer that is
no OTLP count as not taken.
"""

import json
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import requests
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from orchestra_lib.errors import BadInput, ProviderFault
from orchestra_lib.record import record
from orchestra_lib.spans import Span, spans
from orchestra_lib.trajectory import Trajectory

_PATH = "/v1/traces"
_MAX_SPANS = 500
_MAX_CHARS = 2_000_000
"""Of attributes in one request; a collector refuses bodies of more than 20 MiB unless told otherwise."""
_RESOURCE = Resource({"service.name": "orchestra-workbench"})
_SCOPE = InstrumentationScope("orchestra_lib.spans")


@record
class Sent:
    """What an export came to. `running` runs had not ended and were left out."""

    runs: int
    spans: int
    running: int


def send(trajectories: Iterable[Trajectory], *, endpoint: str | None = None, content: bool = False) -> Sent:
    """Send the spans of every trajectory that has ended, batch by batch.

    `endpoint` None: what `OTEL_EXPORTER_OTLP_ENDPOINT` says, else this machine's port 4318. Raises `BadInput` for an
    endpoint that is no address, and `ProviderFault` as soon as a batch was not taken whole, with how many were.
    """
    collector = _Collector(endpoint)
    runs = sent = running = 0
    try:
        for batch in _batches(trajectories, content):
            ended = [one for one in batch if one is not None]
            if problem := collector.refusal(ended):
                raise ProviderFault(
                    f"the collector at {collector.address} did not take the spans: {problem}; {sent:,} were taken "
                    "before. Sending them again is safe: the ids stay the same"
                )
            sent += len(ended)
            runs += sum(one.parent_id is None for one in ended)
            running += len(batch) - len(ended)
    finally:
        collector.close()
    return Sent(runs=runs, spans=sent, running=running)


def _batches(trajectories: Iterable[Trajectory], content: bool) -> Iterator[list[Span | None]]:
    """Spans in requests of a size that collectors take; None stands for a run that has not ended."""
    batch: list[Span | None] = []
    size = 0
    for trajectory in trajectories:
        made: tuple[Span | None, ...] = (None,) if trajectory.stop is None else spans(trajectory, content=content)
        for span in made:
            chars = 0 if span is None else sum(len(str(value)) for value in span.attributes.values())
            if batch and (len(batch) >= _MAX_SPANS or size + chars > _MAX_CHARS):
                yield batch
                batch, size = [], 0
            batch.append(span)
            size += chars
    if batch:
        yield batch


class _Collector:
    """OpenTelemetry's exporter, and what its last request was answered."""

    def __init__(self, endpoint: str | None) -> None:
        self._answer: requests.Response | None = None
        self._session = requests.Session()
        self._session.hooks["response"].append(self._heard)
        self._exporter = OTLPSpanExporter(
            endpoint=None if endpoint is None else _address(endpoint), session=self._session
        )
        self.address = _without_secrets(self._exporter._endpoint)

    def _heard(self, answer: requests.Response, *_: Any, **__: Any) -> None:
        self._answer = answer

    def refusal(self, batch: list[Span]) -> str | None:
        """Send a batch; why it was not taken whole, None when it was."""
        if not batch:
            return None
        self._answer = None
        self._exporter.export([_readable(span) for span in batch])
        return _problem(self._answer)

    def close(self) -> None:
        self._session.close()


def _problem(answer: requests.Response | None) -> str | None:
    if answer is None:
        return "nothing answers there; is it running, and is the address right (--endpoint URL)?"
    if answer.status_code != HTTPStatus.OK:
        return f"it answered {answer.status_code} {answer.reason}"
    try:
        rejected, why = _rejected(answer)
    except (DecodeError, ValueError, AttributeError, TypeError):
        return "its answer is no OTLP, so it is no collector; name one with --endpoint URL"
    return f"it rejected {rejected:,} of a batch{f' ({why[:200]})' if why else ''}" if rejected else None


def _rejected(answer: requests.Response) -> tuple[int, str]:
    """How many spans of the batch were rejected, and why."""
    if answer.headers.get("content-type", "").startswith("application/json"):
        part = json.loads(answer.content or b"{}").get("partialSuccess") or {}
        return int(part.get("rejectedSpans", 0)), str(part.get("errorMessage", ""))
    told = ExportTraceServiceResponse.FromString(answer.content).partial_success
    return told.rejected_spans, told.error_message


def _readable(span: Span) -> ReadableSpan:
    """The exporter's own form. A tracer would draw ids, and could be told by the environment to drop spans."""
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id),
        parent=None if span.parent_id is None else _context(span.trace_id, span.parent_id),
        resource=_RESOURCE,
        attributes=dict(span.attributes),
        kind=SpanKind.CLIENT if span.client else SpanKind.INTERNAL,
        status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=_SCOPE,
    )


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _address(endpoint: str) -> str:
    """The address of the traces below a collector's address, as OTEL_EXPORTER_OTLP_ENDPOINT is read too."""
    try:
        parts = urlsplit(endpoint)
        readable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        readable = False
    if not readable:
        raise BadInput(f"--endpoint {endpoint!r} is no address; write it as http://HOST:4318")
    return endpoint if parts.path.endswith(_PATH) else endpoint.rstrip("/") + _PATH


def _without_secrets(address: str) -> str:
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
