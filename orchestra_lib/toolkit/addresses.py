"""Which addresses a page may be fetched from: public ones only, and a connection goes to the very one that was checked.

A search result names any URL that its author likes, this machine's own services and a cloud's metadata
among them. So every address that a name stands for is checked, one that is not public refuses the name, and
nobody asks for the name again afterwards: a second answer could be another one.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence

import httpx2

from orchestra_lib.errors import ProviderFault
from orchestra_lib.record import record

PORTS = (80, 443)
MAX_URL_CHARS = 2_000
MAX_ADDRESSES = 16

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives every address of a host name, as text. Raises `OSError` when there is none."""

# Of the IANA registries of special-purpose addresses; Python's own `is_global` changes between versions.
_SPECIAL_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    )
)  # fmt: skip
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6 = tuple(
    ipaddress.IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20")
)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # how a network without IPv4 reaches it (NAT64)
_SIX_TO_FOUR = ipaddress.IPv6Network("2002::/16")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")


class Refused(ProviderFault):
    """A URL that may not be fetched; the message says why, for the record and the model."""


@record
class Checked:
    """A URL that may be fetched, and the addresses behind its name, all of them checked, in the order to try."""

    url: httpx2.URL
    addresses: tuple[str, ...]


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, also by the IPv4 address that it carries inside."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_4)
    if address in _TRANSLATED:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    if address in _SIX_TO_FOUR:
        return is_public(ipaddress.IPv4Address(int(address) >> 80 & 0xFFFF_FFFF))
    return address in _UNICAST_6 and not any(address in network for network in _SPECIAL_6)


async def resolve(host: str, port: int) -> Sequence[str]:
    """What the system's resolver says."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Checks URLs before they are fetched.

    `allowed` are networks that may be reached though they are not public, `ports` those that may be used;
    both, like `resolver`, are for tests and for whoever runs a web of his own.
    """

    def __init__(
        self, resolver: Resolve = resolve, *, allowed: Collection[Network] = (), ports: Collection[int] = PORTS
    ) -> None:
        self._resolve, self._allowed, self._ports = resolver, tuple(allowed), ports

    async def check(self, url: str) -> Checked:
        """The URL with its addresses. Raises `Refused` when it or one of them must not be asked."""
        parsed, port = self._read(url)
        host = parsed.host
        literal = _literal(host)
        try:
            found = [str(literal)] if literal else await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise Refused(f"{host[:80]}: there is no such host") from None
        if not found:
            raise Refused(f"{host[:80]}: there is no such host")
        for address in found[:MAX_ADDRESSES]:
            if not self._may_reach(address):
                raise Refused(f"{host[:80]}: it is not on the public internet")
        return Checked(url=parsed, addresses=tuple(found[:MAX_ADDRESSES]))

    def _read(self, url: str) -> tuple[httpx2.URL, int]:
        if len(url) > MAX_URL_CHARS:
            raise Refused(f"a URL of {len(url):,} characters is not fetched")
        try:
            parsed = httpx2.URL(url)
            host = parsed.raw_host.decode("ascii").lower()
            port = {"http": 80, "https": 443}.get(parsed.scheme, 0) if parsed.port is None else parsed.port
        except (httpx2.InvalidURL, ValueError):
            raise Refused("the address is no URL") from None
        if parsed.scheme not in ("http", "https"):
            raise Refused(f"only http and https are fetched, not {parsed.scheme[:20] or 'a bare path'!r}")
        if parsed.userinfo:
            raise Refused("a URL with a user name or password in it is not fetched")
        if port not in self._ports:
            raise Refused(f"port {port} is not fetched, only {' and '.join(map(str, self._ports))}")
        if _literal(host) is None:
            _check_name(host)
        return parsed.copy_with(fragment=None), port

    def _may_reach(self, text: str) -> bool:
        try:
            address: Address = ipaddress.ip_address(text)
        except ValueError:
            return False
        if "%" in text:  # an address of one link of this machine
            return False
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        address = mapped or address
        return is_public(address) or any(address in network for network in self._allowed)


def _literal(host: str) -> Address | None:
    """The address that a host is written as, in the one usual form; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _check_name(host: str) -> None:
    """A name has at least two labels and does not end in a number: `2130706433` and `0x7f.1` are 127.0.0.1 to some."""
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        raise Refused(f"{host[:80]}: write an address as four plain numbers")
    if len(labels) < 2 or len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Refused(f"{host[:80]!r} is no host name of the public internet")
