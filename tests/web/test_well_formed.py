"""What no database can keep is refused at the door, on each kind of database."""

from __future__ import annotations

import pytest

from kedge.errors import MalformedInput
from kedge.web.protection.well_formed import check_body
from tests.web.run_calls import API
from tests.web.served import Served, key

BODIES = {
    "half of a surrogate pair": rb'{"goals": {"topics": "\ud800"}}',
    "half of a pair as bytes": b'{"goals": {"topics": "\xed\xa0\x80"}}',
    "NUL": rb'{"goals": {"topics": "a\u0000"}}',
    "NUL in a name": rb'{"goals": {"a\u0000": 1}}',
    "not a number": b'{"goals": {"above": NaN}}',
    "an infinite number": b'{"goals": {"remove_brokers": [1e999]}}',
    "another encoding": '{"goals": {}}'.encode("utf-16"),
    "a number beyond 64 bits": b'{"goals": {"max_bytes": 1' + b"0" * 30 + b"}}",
    "too deep": b'{"goals": {"add_brokers": [{"id": ' + b"[" * 500 + b"]" * 500 + b"}]}}",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_cannot_be_kept_is_refused_and_starts_no_job(
    served: Served, body: bytes
) -> None:
    with served.client(**{"Content-Type": "application/json"}) as client:
        before = client.get(f"{API}/jobs").raise_for_status().json()
        answer = client.post(f"{API}/plans", content=body, headers=key())
        assert answer.status_code == 400, answer.text
        assert answer.json()["type"] == "urn:kedge:error:malformed-input"
        assert client.get(f"{API}/jobs").raise_for_status().json() == before


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/v1/tokens/%00"),
        ("GET", "/api/v1/audit?cluster=%00"),
        ("GET", "/api/v1/clusters/lab/topics/a%00"),
    ],
)
def test_an_address_with_nul_is_refused(served: Served, method: str, path: str) -> None:
    with served.client() as client:
        answer = client.request(method, path, headers=key())
    assert answer.status_code == 400, answer.text
    assert answer.json()["detail"] == "The address has a NUL character"


@pytest.mark.parametrize(
    "body", [b"", rb'{"a": "\\u0000"}', rb'["\ud83d\ude00"]', '["é"]'.encode()]
)
def test_what_only_looks_like_it_passes(body: bytes) -> None:
    check_body(body)


def test_nul_is_found_however_deep_it_is() -> None:
    with pytest.raises(MalformedInput, match="NUL"):
        check_body(b"[" * 1000 + rb'"\u0000"' + b"]" * 1000)
