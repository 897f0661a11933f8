"""Policies as TOML: read strictly, so that a misspelt limit is refused and not ignored.

    mode = "auto"
    cool_down = "6h"

    [budget]
    bytes_per_day = "500GB"
    windows = ["01:00-05:00[Europe/Berlin]"]
    kinds = ["repair", "fill", "balance"]

    [detect]
    broker_down_for = "15m"
    tolerance = 0.2

A refusal names the place: `budget.bytes_per_day: '5OOGB' is not an amount of bytes`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from math import isfinite
from typing import Any, TypeVar, cast

from kedge.errors import InvalidRequest, MalformedInput
from kedge.execution.windows import parse_window
from kedge.model.json_path import JsonPath
from kedge.model.parse_amounts import duration_s, parse_bytes, parse_rate
from kedge.watch.policy import Budget, Detection, Kind, Mode, Policy, Webhook, WebhookForm

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
SHORTEST_S, LONGEST_S = 1.0, 366 * 86_400.0
TEXT_MAX = 100_000

Reader = Callable[[JsonPath], object]
Choice = TypeVar("Choice", bound=StrEnum)


def parse_policy(text: str) -> Policy:
    """The policy in the text of a TOML file.

    Raises:
        MalformedInput: with the place of the first fault.
    """
    if len(text) > TEXT_MAX:
        raise MalformedInput(f"a policy of {len(text)} characters is too long", place="policy")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise MalformedInput(f"not TOML ({' '.join(str(fault).split())[:200]})") from fault
    return policy_from(document)


def policy_from(document: Mapping[str, Any], place: str = "") -> Policy:
    """The policy of a table that was parsed before; `place` is where it was in its file."""
    return Policy(**_read(JsonPath(document, place), _POLICY))


# ---- values -------------------------------------------------------------------------------------


def _refused(at: JsonPath, what: str, hint: str = "") -> MalformedInput:
    return MalformedInput(what, place=at.place, hint=hint)


def _with_place(at: JsonPath, parse: Callable[[str], Any]) -> Any:
    """What a parser makes of a text; its refusal gets the place."""
    try:
        return parse(at.text())
    except InvalidRequest as refusal:
        if isinstance(refusal, MalformedInput):
            raise
        raise _refused(at, refusal.what.lstrip(": "), refusal.hint) from refusal


def _duration(at: JsonPath) -> float:
    seconds = duration_s(at.text(), UNITS)
    if seconds is None or not SHORTEST_S <= seconds <= LONGEST_S:
        raise _refused(
            at, f"{at.text()!r} is not a duration from 1s to 366d", hint="write it like 90s or 6h"
        )
    return seconds


def _bytes(at: JsonPath) -> int:
    return _with_place(at, lambda text: parse_bytes(text, ""))


def _throttle(at: JsonPath) -> int | None:
    if at.value == "none":
        return None
    return _with_place(at, lambda text: parse_rate(text, ""))


def _whole(least: int, most: int) -> Reader:
    def read(at: JsonPath) -> int:
        value = at.integer()
        if not least <= value <= most:
            raise _refused(at, f"{value} is not from {least} to {most}")
        return value

    return read


def _share(most: float) -> Reader:
    def read(at: JsonPath) -> float:
        value = at.number()
        if not isfinite(value) or not 0 < value <= most:
            raise _refused(at, f"{value:g} is not above 0 and up to {most:g}", hint="0.2 is 20 %")
        return value

    return read


def _choice(kind: type[Choice]) -> Callable[[JsonPath], Choice]:
    def read(at: JsonPath) -> Choice:
        known = [each.value for each in kind]
        if at.text() not in known:
            raise _refused(at, f"unknown value {at.text()!r}", hint=f"use {', '.join(known)}")
        return kind(at.text())

    return read


def _windows(at: JsonPath) -> object:
    return tuple(_with_place(each, parse_window) for each in at.items())


def _kinds(at: JsonPath) -> object:
    return frozenset(_choice(Kind)(each) for each in at.items())


def _address(at: JsonPath) -> str:
    if not at.text().startswith(("http://", "https://")):
        raise _refused(at, "not an address that starts with http:// or https://")
    return at.text()


# ---- tables: the name in TOML, the field, and how it is read -------------------------------------

_DETECT: dict[str, tuple[str, Reader]] = {
    "broker_down_for": ("broker_down_for_s", _duration),
    "under_replicated_for": ("under_replicated_for_s", _duration),
    "disk_above": ("disk_above", _share(1.0)),
    "disk_full_within": ("disk_full_within_s", _duration),
    "tolerance": ("tolerance", _share(1.0)),
    "windows": ("windows", _whole(1, 1000)),
    "window": ("window_s", _duration),
    "new_broker_after": ("new_broker_after_s", _duration),
    "leaders_away": ("leaders_away", _share(1.0)),
    "leaders_away_for": ("leaders_away_for_s", _duration),
    "slow_for": ("slow_for_s", _duration),
}
_BUDGET: dict[str, tuple[str, Reader]] = {
    "bytes_per_day": ("bytes_per_day", _bytes),
    "moves_per_day": ("moves_per_day", _whole(0, 10**9)),
    "windows": ("windows", _windows),
    "kinds": ("kinds", _kinds),
}
_WEBHOOK: dict[str, tuple[str, Reader]] = {
    "form": ("form", _choice(WebhookForm)),
    "url": ("url", _address),
}


def _webhooks(at: JsonPath) -> object:
    found: list[Webhook] = []
    for each in at.items():
        for required in _WEBHOOK:
            each.field(required)
        found.append(Webhook(**_read(each, _WEBHOOK)))
    return tuple(found)


_POLICY: dict[str, tuple[str, Reader]] = {
    "mode": ("mode", _choice(Mode)),
    "sample_every": ("sample_every_s", _duration),
    "cool_down": ("cool_down_s", _duration),
    "expires": ("expires_s", _duration),
    "quiet_after_rejection": ("quiet_after_rejection_s", _duration),
    "throttle": ("throttle", _throttle),
    "moves_per_broker": ("moves_per_broker", _whole(1, 1000)),
    "budget": ("budget", lambda at: Budget(**_read(at, _BUDGET))),
    "detect": ("detect", lambda at: Detection(**_read(at, _DETECT))),
    "webhooks": ("webhooks", _webhooks),
}


def _read(at: JsonPath, table: Mapping[str, tuple[str, Reader]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in at.object():
        if name not in table:
            near = get_close_matches(name, table, 1)
            hint = f"did you mean {near[0]}?" if near else f"use {', '.join(table)}"
            raise _refused(at, f"unknown setting {name}", hint)
        attribute, read = table[name]
        found[attribute] = read(at.field(name))
    return found


# ---- writing ------------------------------------------------------------------------------------


def policy_text(policy: Policy, *, secrets: bool = False) -> str:
    """The policy as TOML, every setting listed; addresses of webhooks only with `secrets`."""
    lines = _lines(policy, _POLICY, skip=("budget", "detect", "webhooks"))
    lines += ["", "[budget]", *_lines(policy.budget, _BUDGET)]
    lines += ["", "[detect]", *_lines(policy.detect, _DETECT)]
    for each in policy.webhooks:
        url = each.url if secrets else masked_url(each.url)
        lines += ["", "[[webhooks]]", f'form = "{each.form}"', f"url = {_quoted(url)}"]
    return "\n".join(lines) + "\n"


def masked_url(url: str) -> str:
    """An address without what may be secret in it: the host alone."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].rpartition("@")[2]
    return f"{scheme}://{host}/…"


def _lines(
    value: object, table: Mapping[str, tuple[str, Reader]], skip: tuple[str, ...] = ()
) -> list[str]:
    texts = {
        name: _toml(attribute, getattr(value, attribute))
        for name, (attribute, _) in table.items()
        if name not in skip
    }
    return [f"{name} = {text}" for name, text in texts.items() if text is not None]


def _toml(attribute: str, value: Any) -> str | None:
    if value is None:
        return '"none"' if attribute == "throttle" else None
    if attribute in ("throttle", "bytes_per_day"):
        return f'"{value}"'
    if attribute.endswith("_s"):
        return f'"{value:g}s"' if value < 1e6 else f'"{value / 86_400:.10g}d"'
    if isinstance(value, tuple | frozenset):
        each = [str(one) for one in cast("Iterable[object]", value)]
        listed = sorted(each) if isinstance(value, frozenset) else each
        return f"[{', '.join(map(_quoted, listed))}]"
    return _quoted(value) if isinstance(value, str) else f"{value}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
