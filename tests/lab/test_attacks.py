"""While one client attacks a lab, another one is answered all the time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.endpoint_attacks import Target, attacks, lab_process, waits_during

SCALE = 0.05
ATTACKS = attacks(scale=SCALE)
# on a quiet machine it is a fifth of that at full scale: `python -m bench endpoint_attacks`
WAIT_S_MAX = 1.0


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with lab_process() as made:
        yield made


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=[a.name for a in ATTACKS])
def test_a_well_behaved_client_is_answered_during_an_attack(target: Target, number: int) -> None:
    waits = waits_during(target, ATTACKS[number])
    assert waits.errors == []
    assert waits.quantile(0.99) < WAIT_S_MAX


def test_connections_beyond_the_limit_leave_the_lab_in_order(target: Target) -> None:
    flood = next(attack for attack in attacks(scale=0.5) if "connections" in attack.name)
    assert waits_during(target, flood).errors == []
