"""`kedge demo --web`: its last section, in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import httpx
import pytest

pytestmark = pytest.mark.timeout(120)

LAST_SECTION = """
from kedge.cli.demo.demo_lab import running_demo
from kedge.cli.demo.pages import offered
with running_demo(1) as demo:
    demo.kedge("topics", "create", "--topic", "clicks", "--partitions", "6")
    offered(demo, 0)
"""


def test_the_demo_ends_with_pages_whose_loop_starts_what_is_approved() -> None:
    command = [sys.executable, "-c", LAST_SECTION]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stdout is not None
            lines = iter(demo.stdout.readline, "")
            url = next(found[1] for line in lines if (found := re.search(r"open +(\S+)/#", line)))
            token = next(f[1] for line in lines if (f := re.search(r"token +(kedge_\S+)", line)))
            headers = {"Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
                assert "<title>Kedge</title>" in client.get("/").text
                brokers = client.get("/api/v1/clusters/demo/brokers").json()["brokers"]
                assert len(brokers["id"]) == 9
                assert client.get("/api/v1/clusters/demo/policy").json()["mode"] == "approve"
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait(60)
