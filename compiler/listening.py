"""Addresses that a server listens on."""

from __future__ import annotations

from ipaddress import ip_address


_IPV6 = 6


def reached_at(host: str) -> str:
    """Where the machine itself reaches a server that listens on `host`: the loopback when that means every address."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return str(address)
    return "::1" if address.version == _IPV6 else "127.0.0.1"
