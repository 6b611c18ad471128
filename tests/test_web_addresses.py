"""No page is fetched from this machine, its network or a cloud's metadata, however the address is written."""

import asyncio
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from webbing import LOOPBACK, Names

from orchestra_lib.toolkit.addresses import Guard, Refused, is_public

PRIVATE = (
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9",
    "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "::", "::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1",
    "2001::1", "3fff::1", "100::1", "5f00::1", "64:ff9b:1::1",
)  # fmt: skip
PUBLIC = (
    "1.1.1.1", "8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1",
    "64:ff9b::808:808", "2002:808:808::1",
)  # fmt: skip


def check(url, resolver=None, **options):
    return asyncio.run(Guard(resolver or Names(example_com=["93.184.215.14"]), **options).check(url))


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_refused_as_a_literal_and_behind_a_name(address):
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(Refused):
        check(f"http://{host}/")
    with pytest.raises(Refused, match="not on the public internet"):
        check("http://example.com/", Names(example_com=[address]))


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_fetched(address):
    assert check("https://example.com/a?b=c", Names(example_com=[address])).addresses == (address,)


@pytest.mark.parametrize("inside", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.0.1"])
@pytest.mark.parametrize("form", ["::ffff:{}", "::{}", "64:ff9b::{}", "2002:{}::1", "::ffff:0:{}"])
def test_an_ipv4_address_inside_an_ipv6_one_is_seen(form, inside):
    if form.startswith("2002"):
        number = int(ipaddress.IPv4Address(inside))
        inside = f"{number >> 16:x}:{number & 0xFFFF:x}"
    with pytest.raises(Refused):
        check("http://example.com/", Names(example_com=[form.format(inside)]))


def test_one_bad_address_among_good_ones_refuses_the_name():
    with pytest.raises(Refused):
        check("http://example.com/", Names(example_com=["1.1.1.1", "2606:4700::1111", "127.0.0.1"]))


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://017700000001/", "http://0177.0.0.1/",
        "http://127.1/", "http://127.0.0.1./", "http://127。0。0。1/", "http://１２７.0.0.1/", "http://[::1]/",
        "http://[fe80::1%25eth0]/", "http://[2606:4700::1%25eth0]/", "http://localhost/", "http://intranet/", "http:///etc/passwd",
        "http://example.com:0/", "http://example.com:22/", "http://example.com:6379/", "http://example.com:99999/",
        "http://user:secret@example.com/", "http://127.0.0.1\\@example.com/", "http://example.com\\@127.0.0.1/",
        "file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "data:text/html,x", "javascript:alert(1)",
        "//example.com/", "example.com", "", "http://", "http://ex%61mple.com/", "http://a b.com/", "http://-.com/",
        "http://example.com/\r\nHost: x", "http://" + "a" * 3000 + ".com/",
    ],
)  # fmt: skip
def test_a_url_that_is_written_to_mislead_is_refused_before_a_name_is_asked_for(url):
    names = Names(example_com=["1.1.1.1"], localhost=["1.1.1.1"], intranet=["1.1.1.1"])
    with pytest.raises(Refused) as refused:
        check(url, names)
    assert names.asked == []
    assert "secret" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("found", [[], ["nonsense"], ["1.1.1.1%eth0"], [""]])
def test_a_resolver_that_says_nothing_or_nonsense_refuses(found):
    with pytest.raises(Refused):
        check("http://example.com/", Names(example_com=found))
    with pytest.raises(Refused, match="no such host"):
        check("http://unknown.example/")


def test_a_network_may_be_allowed_by_whoever_runs_one():
    names = Names(wiki_example=["127.0.0.1"])
    assert check("http://wiki.example:8080/", names, allowed=[LOOPBACK], ports=[8080]).addresses == ("127.0.0.1",)
    with pytest.raises(Refused):
        check("http://wiki.example/", Names(wiki_example=["::1"]), allowed=[LOOPBACK])


def test_the_fragment_goes_and_the_rest_stays():
    assert str(check("HTTPS://Example.com/a%20b?q=1#part").url) == "https://example.com/a%20b?q=1"


@given(st.ip_addresses(v=4))
def test_what_python_calls_private_is_never_public(address):
    if (
        address.is_private
        or address.is_loopback
        or address.is_multicast
        or address.is_reserved
        or address.is_link_local
    ):
        assert not is_public(address)
    assert not is_public(ipaddress.ip_address(f"64:ff9b::{address}")) or is_public(address)


@given(st.ip_addresses(v=6) | st.integers(0, 2**125 - 1).map(lambda n: ipaddress.IPv6Address((1 << 125) + n)))
def test_a_public_ipv6_address_is_global_unicast(address):
    if is_public(address) and address not in ipaddress.ip_network("64:ff9b::/96"):
        assert address.is_global
        assert not address.is_multicast
        assert int(address) >> 125 == 1


@given(st.text(max_size=60) | st.text("htps:/@[]%.0123456789axf\\#?", max_size=60).map("http://".__add__))
def test_any_text_is_a_checked_url_or_refused(text):
    names = Names()
    names.of = {name: ["1.1.1.1"] for name in ("a.a",)}
    try:
        checked = check(text, names)
    except Refused:
        return
    assert all(is_public(ipaddress.ip_address(address)) for address in checked.addresses)
    assert checked.url.scheme in ("http", "https")
    assert not checked.url.userinfo
