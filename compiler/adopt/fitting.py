"""A finding about a launch goes in; the same comes out with its advice in the lines of what the launch stands in."""

from __future__ import annotations

import re

from attrs import evolve

from compiler.adopt.form import Form, key_advice, port_lines, variable_line
from compiler.adopt.launch import Command
from compiler.diagnostics import Diagnostic
from compiler.visibledevices import VISIBLE


_KEY = re.compile(r"(?:put it into a YAML file[^`]*, and )?set `secrets\.api_key = \{[^`]*\}`")
_FLAG_OF_PROFILE = re.compile(r"`flags\.(?P<name>[a-z0-9][a-z0-9-]*)`")
_VARIABLE_SET = re.compile(r"set `env\.(?P<name>\w+) = \"?(?P<value>[^`\"]*)\"?`")
_VARIABLE_TO = re.compile(r"set `env\.(?P<name>\w+)` to `?(?P<value>[\w.:,-]+)`?")
_VARIABLE = re.compile(r"`env\.(?P<name>\w+)`")
_RAW_VARIABLE = re.compile(r"`env\.(?P<name>\w+) = \"?(?P<value>[^`\"]*)\"?`")
_INDICES = re.compile(r"set `gpus\.indices = \[(?P<value>[^\]`]*)\]`, and remove `[^`]*`")
_COUNT = re.compile(r"`gpus\.count = (?P<value>[\d_]+)`(?=, or change the layout)")
_LAYOUT = re.compile(r"set `gpus\.count = (?P<value>[\d_]+)`")
_TABLE = "`[speculative]`"
_ON_HOST = "to directories on the host"
_IN_CONTAINER = "to directories that the container mounts"
_BUILD = re.compile(r"set `engine\.build = \"(?P<name>[^\"`]*)\"` and install that build")
_OPEN = "bind-open"
_OWN = frozenset({"127.0.0.1", "localhost", "[::1]", "::1"})


def fitted(found: Diagnostic, command: Command, *, by_file: bool) -> Diagnostic | None:
    """A finding whose advice is in flags already; `None` where it does not hold in what the launch stands in.

    `by_file` says whether the release reads a key from a file.
    """
    if found.code == _OPEN:
        return _open(found, command, by_file=by_file)
    return evolve(
        found,
        summary=line_in(found.summary, command.form, by_file=by_file),
        notes=tuple(line_in(each, command.form, by_file=by_file) for each in found.notes),
        help=tuple(line_in(each, command.form, by_file=by_file) for each in found.help),
    )


def line_in(text: str, form: Form, *, by_file: bool) -> str:
    """One line of a finding, in the lines of a form."""
    text = _KEY.sub(lambda _: key_advice(form, by_file=by_file), text)
    text = _INDICES.sub(lambda each: f"set {variable_line(form, VISIBLE, each['value'])}", text)
    for pattern in (_VARIABLE_SET, _VARIABLE_TO):
        text = pattern.sub(
            lambda each: f"set {variable_line(form, each['name'], each['value'])}", text
        )
    text = _RAW_VARIABLE.sub(lambda each: variable_line(form, each["name"], each["value"]), text)
    text = _VARIABLE.sub(lambda each: f"`{each['name']}`", text)
    text = _FLAG_OF_PROFILE.sub(lambda each: f"`--{each['name']}`", text)
    text = _COUNT.sub(lambda each: f"`--count {each['value'].replace('_', '')}` here", text)
    text = _LAYOUT.sub(lambda each: f"change the layout so that it takes {each['value']}", text)
    text = text.replace("`gpus.count` says", "the layout takes")
    text = text.replace("`gpus.indices` names", "the launch sees")
    text = _BUILD.sub(lambda each: f"install the build `{each['name']}`", text)
    text = text.replace(_TABLE, "the flags of speculation")
    return text.replace(_ON_HOST, _IN_CONTAINER) if form.is_container else text


def _open(found: Diagnostic, command: Command, *, by_file: bool) -> Diagnostic | None:
    """Of a container its published ports count, not the addresses that it has for itself."""
    form, ports = command.form, command.ports
    key = key_advice(form, by_file=by_file)
    if form is Form.POD:
        where = "node" if command.is_hosts_network else "pod"
        # A pod with the network of its node is none that a policy selects (kubernetes.io, "Network Policies").
        by = "a firewall on the node" if command.is_hosts_network else "a NetworkPolicy"
        return evolve(
            found,
            summary=f"the server listens on every address of its {where}, and asks for no key",
            notes=tuple(
                each.replace("reaches the host", f"reaches the {where}") for each in found.notes
            ),
            help=(key, f"or let only its clients reach it, by {by}"),
        )
    if command.is_hosts_network or not form.has_own_network:
        return evolve(found, help=(key, "or set `--host 127.0.0.1`, behind something that asks"))
    if form is Form.IMAGE:
        shown = port_lines(form, ["127.0.0.1:30000:30000"])
        return evolve(
            found,
            summary="the server listens on every address of its container, and asks for no key",
            notes=("whoever reaches a port of the host that it is published on can use the model",),
            help=(key, f"or publish it for the host alone: {shown}"),
        )
    # What is published for the host itself, or not at all, is reached by nobody else.
    outward = [each for each in ports if each.address not in _OWN]
    if not outward:
        return None
    shown = port_lines(form, [f"127.0.0.1:{each.outer}:{each.inner}" for each in outward])
    return evolve(
        found,
        summary="the server is published on every address of its host, and asks for no key",
        help=(key, f"or publish it for the host alone, behind something that asks: {shown}"),
    )
