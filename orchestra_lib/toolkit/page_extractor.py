"""The text of an HTML page; a program of its own, as a page can be made to keep a parser busy for minutes.

It reads UTF-8 HTML from standard input and writes the text to standard output. It is started without
the environment, so that no key is within reach of what it parses, denies itself the network and new processes
before it parses, and may use so much CPU and memory:
`page_extractor.py CPU_SECONDS TEXT_CHARS`.
"""

import contextlib
import resource
import sys

from orchestra_lib.toolkit.offline import deny_network

MEMORY_BYTES = 1 << 30


def extract(html: str) -> str:
    """The main text of a page, or all of its text where no main part can be told; empty when there is none."""
    import trafilatura

    text = trafilatura.extract(html, fast=True, include_comments=False, include_tables=True)
    return text or trafilatura.html2txt(html) or ""


def main() -> None:
    """Read, extract, write; too much work ends in a signal or a `MemoryError`."""
    cpu_s, chars = int(sys.argv[1]), int(sys.argv[2])
    for limit, most in ((resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_AS, MEMORY_BYTES)):
        with contextlib.suppress(OSError, ValueError):  # macOS knows no limit of memory
            resource.setrlimit(limit, (most, most))
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    import trafilatura  # noqa: F401  # before the network is denied: what it draws in looks at sockets

    deny_network()
    sys.stdout.buffer.write(extract(html)[:chars].encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
