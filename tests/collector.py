"""A collector of OTLP over HTTP in a process of its own, which decodes with OpenTelemetry's own protobuf.

`python collector.py FILE [MODE]` prints its port, and writes every span it takes to FILE as a line of JSON. Modes:
`refuse` answers 400, `partial` rejects one span of every batch, `web` answers any request with a page, `moved` sends
elsewhere.
"""

import gzip
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


def value(one):
    kind = one.WhichOneof("value")
    return [value(part) for part in one.array_value.values] if kind == "array_value" else getattr(one, kind)


def plain(span):
    return {
        "trace": span.trace_id.hex(),
        "id": span.span_id.hex(),
        "parent": span.parent_span_id.hex(),
        "name": span.name,
        "kind": span.kind,
        "start": span.start_time_unix_nano,
        "end": span.end_time_unix_nano,
        "status": span.status.code,
        "attributes": {one.key: value(one.value) for one in span.attributes},
    }


def serve(file, mode):
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
        ExportTraceServiceResponse,
    )

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            request = ExportTraceServiceRequest.FromString(body)
            found = [span for res in request.resource_spans for scope in res.scope_spans for span in scope.spans]
            answer = ExportTraceServiceResponse()
            if mode == "partial":
                found.pop()
                answer.partial_success.rejected_spans = 1
                answer.partial_success.error_message = "too old"
            if mode in ("take", "partial"):
                with file.open("a") as out:
                    told = {"path": self.path, "key": self.headers.get("x-key")}
                    out.writelines(json.dumps({**plain(span), **told}) + "\n" for span in found)
            data = b"<html>hello</html>" if mode == "web" else answer.SerializeToString()
            self.send_response({"refuse": 400, "moved": 302}.get(mode, 200))
            self.send_header("content-type", "text/html" if mode == "web" else "application/x-protobuf")
            self.send_header("content-length", str(len(data)))
            if mode == "moved":
                self.send_header("location", "/elsewhere")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "take")
