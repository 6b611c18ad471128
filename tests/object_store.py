"""An object store for tests: as much of S3's protocol as a client needs to list, read ranges and write in parts."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_XMLNS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
_DATED = "2026-11-30T00:00:00.000Z"


def unsigned(data: bytes) -> bytes:
    """A body that its client sent in signed chunks."""
    whole = b""
    while data:
        head, _, rest = data.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        whole, data = whole + rest[:size], rest[size + 2 :] if size else b""
    return whole


@contextmanager
def object_store() -> Iterator[tuple[str, dict[str, bytes]]]:
    """What follows `s3://BUCKET/PREFIX` to reach it, and its objects by bucket and key."""
    objects: dict[str, bytes] = {}
    uploads: dict[str, dict[int, bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            data = objects.get(self.key)
            self.say(404 if data is None else 200, b"" if data is None else data, body=False)

        def do_GET(self) -> None:
            if "list-type" in self.asked:
                self.say(200, self.listing().encode())
                return
            data = objects.get(self.key)
            if data is None:
                self.say(404)
                return
            first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups()
            self.say(206, data[int(first) : int(last) + 1], size=len(data), first=int(first))

        def do_PUT(self) -> None:
            data = self.content()
            if "partNumber" in self.asked:
                uploads[self.asked["uploadId"][0]][int(self.asked["partNumber"][0])] = data
            else:
                objects[self.key] = data
            self.say(200)

        def do_POST(self) -> None:
            self.content()
            if "uploads" in self.asked:
                upload = str(len(uploads))
                uploads[upload] = {}
                told = f"<UploadId>{upload}</UploadId>"
                self.say(
                    200, f"<InitiateMultipartUploadResult {_XMLNS}>{told}</InitiateMultipartUploadResult>".encode()
                )
                return
            objects[self.key] = b"".join(part for _, part in sorted(uploads[self.asked["uploadId"][0]].items()))
            told = '<ETag>"1"</ETag>'
            self.say(200, f"<CompleteMultipartUploadResult {_XMLNS}>{told}</CompleteMultipartUploadResult>".encode())

        @property
        def key(self) -> str:
            return unquote(urlsplit(self.path).path)[1:]

        @property
        def asked(self) -> dict[str, list[str]]:
            return parse_qs(urlsplit(self.path).query, keep_blank_values=True)

        def listing(self) -> str:
            prefix = self.asked.get("prefix", [""])[0]
            found = {key.removeprefix(f"{self.key}/"): data for key, data in sorted(objects.items())}
            told = "".join(
                f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size><LastModified>{_DATED}</LastModified></Contents>"
                for key, data in found.items()
                if key.startswith(prefix)
            )
            return f"<ListBucketResult {_XMLNS}><IsTruncated>false</IsTruncated>{told}</ListBucketResult>"

        def content(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                data = b""
                while size := int(self.rfile.readline().partition(b";")[0], 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return unsigned(data) if "aws-chunked" in (self.headers.get("Content-Encoding") or "") else data

        def say(self, status: int, data: bytes = b"", *, body: bool = True, size: int = 0, first: int = 0) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Last-Modified", "Mon, 30 Nov 2026 00:00:00 GMT")
            self.send_header("ETag", '"1"')
            if status == 206:
                self.send_header("Content-Range", f"bytes {first}-{first + len(data) - 1}/{size}")
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1", objects
    finally:
        server.shutdown()
        server.server_close()
