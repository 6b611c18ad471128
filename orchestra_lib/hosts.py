"""Names of this machine, as they stand in a Host header."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def hostname(host: str) -> str:
    """The name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] or host
