"""What the progress of a Spark job says of amounts and rates."""

from __future__ import annotations

import pytest

from kedge.cli.pipeline_progress import amount_text, rate_text, shown


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (12_096_000, "rows", "12,096,000 rows"),
        (2_775_703_275, "bytes", "2.8 GB"),
        (40, "clusters", "40 clusters"),
        (0, "rows", ""),
    ],
)
def test_an_amount_has_the_unit_of_its_stage(amount: int, unit: str, text: str) -> None:
    assert amount_text(amount, unit) == text


def test_a_rate_is_shown_once_there_is_one() -> None:
    assert rate_text(3_000_000, "bytes", 2.0) == "1.5 MB/s"
    assert rate_text(0, "rows", 20.0) == ""  # no task has ended
    assert rate_text(500, "rows", 0.4) == ""
    assert rate_text(3, "clusters", 60.0) == ""


def test_each_stage_is_a_line_with_its_amount(capsys: pytest.CaptureFixture[str]) -> None:
    with shown() as progress:
        progress.stage("measurements", 2_775_703_275, "bytes")
        progress.stage("bronze", 12_096_000)
    text = capsys.readouterr().err
    assert "measurements" in text
    assert "2.8 GB" in text
    assert "12,096,000 rows" in text
