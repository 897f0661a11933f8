"""Policies as TOML: read strictly, with the place of each fault, and written back."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import MalformedInput
from kedge.execution.windows import Window
from kedge.watch.policy import Budget, Kind, Mode, Policy, Webhook, WebhookForm
from kedge.watch.policy_toml import masked_url, parse_policy, policy_text

GUIDE = Path(__file__).parents[2] / "docs/guides/watch.md"
FULL = """
mode = "auto"
cool_down = "6h"
throttle = "20MB"

[budget]
bytes_per_day = "500GB"
moves_per_day = 200
windows = ["01:00-05:00[Europe/Berlin]"]
kinds = ["repair", "fill"]

[detect]
broker_down_for = "90s"
tolerance = 0.3

[[webhooks]]
form = "slack"
url = "https://user:word@hooks.example.org/T000/B000/xyz"
"""


def test_an_empty_file_is_the_careful_default() -> None:
    assert parse_policy("") == Policy()
    assert Policy().mode is Mode.PROPOSE


def test_a_policy_is_read() -> None:
    policy = parse_policy(FULL)
    assert policy.mode is Mode.AUTO
    assert policy.budget == Budget(
        500 * 10**9,
        200,
        (Window(60, 300, "Europe/Berlin"),),
        frozenset({Kind.REPAIR, Kind.FILL}),
    )
    assert policy.detect.broker_down_for_s == 90
    assert policy.throttle == 20_000_000


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("mode = 'automatic'", "mode: unknown value 'automatic'; use propose, approve, auto"),
        ("modus = 'auto'", "unknown setting modus; did you mean mode?"),
        ("cool_down = 6", "cool_down: expected text, got 6"),
        ("cool_down = '6 hours'", "cool_down: '6 hours' is not a duration"),
        ("cool_down = '0s'", "cool_down: '0s' is not a duration from 1s to 366d"),
        ("throttle = '10'", "throttle: 10 is 10 bytes/s, less than 1 kB/s; did you mean 10MB?"),
        ("[budget]\nbytes_per_day = '5OOGB'", "budget.bytes_per_day: '5OOGB' is not an amount"),
        (
            "[budget]\nmoves_per_day = true",
            "budget.moves_per_day: expected a whole number, got true",
        ),
        ("[budget]\nmoves_per_day = -1", "budget.moves_per_day: -1 is not from 0"),
        ("[budget]\nwindows = ['25:00-26:00']", "budget.windows[0]: '25:00-26:00' has a time"),
        ("[budget]\nkinds = ['repair', 'all']", "budget.kinds[1]: unknown value 'all'"),
        ("[budget]\nbytes_per_dya = '5GB'", "budget: unknown setting bytes_per_dya; did you mean"),
        (
            "[detect]\ntolerance = 20",
            "detect.tolerance: 20 is not above 0 and up to 1",
        ),
        ("[detect]\ntolerance = nan", "detect.tolerance: nan is not above 0"),
        ("[[webhooks]]\nform = 'json'", "webhooks[0].url: missing"),
        ("[[webhooks]]\nform='json'\nurl='file:///etc'", "webhooks[0].url: not an address"),
        ("budget = 3", "budget: expected an object, got 3"),
        ("mode = ", "not TOML"),
        ("#" * 200_000, "too long"),
    ],
)
def test_a_fault_is_refused_with_its_place(text: str, refusal: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        parse_policy(text)
    assert refusal in str(caught.value)


def test_a_policy_is_written_as_it_was_read() -> None:
    for policy in (Policy(), parse_policy(FULL), Policy(throttle=None)):
        assert parse_policy(policy_text(policy, secrets=True)) == policy


def test_addresses_of_webhooks_are_secrets() -> None:
    policy = parse_policy(FULL)
    for shown in (repr(policy), policy_text(policy), str(policy.webhooks)):
        assert "xyz" not in shown
        assert "word" not in shown
    assert masked_url("https://user:word@hooks.example.org/T0/x") == "https://hooks.example.org/…"
    assert Webhook(WebhookForm.JSON, "http://a/b").url == "http://a/b"


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(MalformedInput):
        parse_policy(text)


def test_the_policies_of_the_guide_are_valid() -> None:
    blocks = GUIDE.read_text("utf-8").split("```toml\n")[1:]
    assert len(blocks) >= 2
    for block in blocks:
        parse_policy(block.partition("```")[0])
