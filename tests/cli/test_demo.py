"""The demo, from curtain to curtain."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real  # Spark runs in a JVM

ACTS = (
    "1. A lab: 9 brokers on 3 racks, in this process",
    "2. Topics, created in every way that exists",
    "3. Growth and configs",
    "4. A reassignment with a throttle, and its progress",
    "5. A reassignment that is cancelled",
    "6. Broker 4 is killed, and comes back",
    "7. The controller fails in the middle of a reassignment",
    "8. A topic is deleted",
    "9. Metrics become a load model, on Spark",
    "10. When it is full, and who pays",
    "11. A plan, with its curve and its proof",
    "12. The plan is carried out by the lab's controller",
)


def test_the_demo_tells_its_story_to_the_end(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    # In a process of its own: there is one Spark session to a process, and other tests have it.
    command = [sys.executable, "-m", "kedge", "demo", "--html", str(page)]
    demo = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert demo.returncode == 0, demo.stderr
    told = [line for line in demo.stdout.splitlines() if re.match(r"\d+\. ", line)]
    assert told == list(ACTS)
    assert "Reassignment of partition views-0 is completed." in demo.stdout
    assert "partitions checked, 0 errors" in demo.stderr
    assert "Done after" in demo.stdout
    assert "[/]" not in demo.stdout, "markup is rendered, not printed"
    text = page.read_text()
    assert "What stood out" in text
    assert "https://" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
