from __future__ import annotations

from collections.abc import Iterator

import pytest

from kedge.lab import Lab, LabSettings


@pytest.fixture(scope="module")
def quiet_lab() -> Iterator[Lab]:
    """A lab in which nothing is changed."""
    with Lab.running(LabSettings(brokers=3)) as lab:
        yield lab
