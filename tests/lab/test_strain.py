"""Many clients, and strangers: the lab answers the ones and survives the others."""

from __future__ import annotations

import asyncio
import random
import socket
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from kedge.lab.control_socket import send_command
from tests.endpoint.endpoint_cluster import EndpointCluster
from tests.endpoint.load import CLIENTS, PER_ROUND, ROUNDS, work
from tests.lab.labs import detached, until

STRANGERS = 40  # for each port


@dataclass(frozen=True)
class Seen:
    """What a process takes."""

    threads: int
    files: int
    resident_bytes: int


def seen(pid: int) -> Seen:
    place = Path(f"/proc/{pid}")
    threads = len(list((place / "task").iterdir()))
    pages = int((place / "statm").read_text().split()[1])
    return Seen(threads, len(list((place / "fd").iterdir())), pages * 4096)


def back_to(before: Seen, pid: int) -> Seen | None:
    """What a process takes once it has no more threads and files than before.

    The thread that answered the last command ends a moment after its answer.
    """
    now = seen(pid)
    return now if now.threads <= before.threads and now.files <= before.files else None


@dataclass
class Remote:
    """As much of a lab as the clients need."""

    ports: dict[int, int]
    controller: int


def test_fifty_clients_with_two_hundred_requests_each_leave_nothing_behind(tmp_path: Path) -> None:
    with detached(tmp_path / "lab", "--brokers", 3) as about:
        control = tmp_path / "lab" / "control.sock"
        ports = {broker["id"]: broker["port"] for broker in about["brokers"]}
        remote = cast("EndpointCluster", Remote(ports, about["controller"]))

        # a name of its own for each topic: as in any cluster, one that was just deleted is gone
        # from the metadata a moment before it can be created again
        async def client(number: int, rounds: range) -> Counter[int]:
            done = [await work(remote, number + CLIENTS * each, 1) for each in rounds]
            return sum(done, Counter[int]())

        async def everybody(rounds: range) -> Counter[int]:
            done = await asyncio.gather(*(client(n, rounds) for n in range(CLIENTS)))
            return sum(done, Counter[int]())

        def quiet() -> bool:
            return send_command(control, "status")["topics"] == 0

        assert asyncio.run(everybody(range(1))) == {0: CLIENTS * PER_ROUND}
        until(quiet)
        before = seen(about["pid"])
        assert asyncio.run(everybody(range(1, ROUNDS))) == {0: CLIENTS * (ROUNDS - 1) * PER_ROUND}
        until(quiet)
        after = until(lambda: back_to(before, about["pid"]), "the end of threads and files")
        assert after.resident_bytes - before.resident_bytes < 32 << 20
        assert send_command(control, "status")["failures"] == 0


def noise(luck: random.Random) -> bytes:
    """Something that is no request: noise, half a frame, a huge length, a broken message."""
    body = luck.randbytes(luck.randrange(1, 300))
    return luck.choice(
        [
            body,
            len(body + b"1").to_bytes(4, "big") + body,  # a byte is missing
            (2**31 - 1).to_bytes(4, "big") + body,
            (2**32 - 5).to_bytes(4, "big") + body,
            len(body).to_bytes(4, "big") + body,
            len(body).to_bytes(4, "big") + b"\0\x03\0\x0c" + body[4:],
            b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
            b"",
        ]
    )


def test_strangers_on_every_port_change_nothing_and_memory_stays_flat(tmp_path: Path) -> None:
    luck = random.Random(5)
    with detached(tmp_path / "lab", "--brokers", 3) as about:
        pid, control = about["pid"], tmp_path / "lab" / "control.sock"
        ports = [broker["port"] for broker in about["brokers"]]

        def annoy() -> None:
            held: list[socket.socket] = []
            for port in ports:
                for _ in range(STRANGERS):
                    stranger = socket.create_connection(("127.0.0.1", port), timeout=10)
                    stranger.sendall(noise(luck))
                    held.append(stranger)
            for stranger in held:
                stranger.close()

        annoy()
        base = until(lambda: settled(pid))
        for _ in range(5):
            annoy()
        after = until(lambda: back_to(base, pid), "the end of threads and connections")
        assert after.resident_bytes - base.resident_bytes < 16 << 20
        status = send_command(control, "status")
        assert status["failures"] == 0
        assert sum(broker["up"] for broker in status["brokers"]) == 3


def settled(pid: int) -> Seen | None:
    """What a process takes once strangers' connections are closed: nothing but its ports."""
    now = seen(pid)
    sockets = [path for path in Path(f"/proc/{pid}/fd").iterdir() if is_socket(path)]
    return now if len(sockets) <= 8 else None


def is_socket(path: Path) -> bool:
    try:
        return path.readlink().name.startswith("socket:")
    except OSError:
        return False


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"nonsense\n", b"[1]\n", b'{"do":"dance"}\n', b'{"do":"inject"}\n', b"\xff"],
)
def test_a_broken_order_is_answered_and_harms_nobody(line: bytes, tmp_path: Path) -> None:
    import json

    from kedge.lab.control_socket import ControlServer

    def handle(order: dict[str, Any]) -> object:
        return {"inject": order["kind"]} if order.get("do") == "inject" else "done"

    server = ControlServer(tmp_path / "sock", handle)
    try:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(tmp_path / "sock"))
            caller.sendall(line)
            caller.shutdown(socket.SHUT_WR)
            answer = json.loads(caller.makefile("rb").read())
        assert set(answer) in ({"error", "hint", "whose"}, {"ok"})
        assert send_command(tmp_path / "sock", "anything") == "done"
    finally:
        server.stop()
    assert not (tmp_path / "sock").exists()


def test_the_control_socket_is_its_owners_alone_however_long_its_path(tmp_path: Path) -> None:
    from kedge.lab.control_socket import ControlServer

    folder = tmp_path / ("a" * 60) / ("b" * 60)
    folder.mkdir(parents=True)
    server = ControlServer(folder / "control.sock", lambda order: order["do"])
    try:
        assert (folder / "control.sock").stat().st_mode & 0o777 == 0o600
        assert send_command(folder / "control.sock", "hello") == "hello"
    finally:
        server.stop()
