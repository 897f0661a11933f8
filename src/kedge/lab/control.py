"""Orders to a lab that runs in another process: one line of JSON each way, over a Unix socket.

    {"do": "inject", "kind": "broker-crash", "arguments": ["2"]}
    {"ok": "broker 2 is gone"}          or     {"error": "…", "hint": "…", "whose": "caller"}

The socket lies in the lab's directory and only its owner may connect; there is no port for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedge.errors import BrokerFailed, InvalidRequest, KedgeError, Unavailable, Unsatisfiable

LINE_BYTES_MAX = 1 << 20
ANSWER_BYTES_MAX = 256 << 20
LINE_S_MAX = 10.0
CALLERS_MAX = 8
RETRY_S = 0.1  # after a connection could not be accepted
PATH_BYTES_MAX = 100  # the system takes 107

Handler = Callable[[dict[str, Any]], object]


@contextmanager
def _address(path: Path) -> Generator[str]:
    """A socket's path, by a shorter way where it is too long for the system."""
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


# ---- the lab's side -----------------------------------------------------------------------------


class ControlServer:
    """Takes orders until it is stopped."""

    def __init__(self, path: Path, handle: Handler) -> None:
        self._path = path
        self._handle = handle
        self._room = threading.BoundedSemaphore(CALLERS_MAX)
        self._callers: set[threading.Thread] = set()
        self._is_stopping = False
        self._stopped = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path.unlink(missing_ok=True)  # of a process that was killed: the lock says it is gone
        before = os.umask(0o177)
        try:
            with _address(path) as address:
                self._socket.bind(address)
        finally:
            os.umask(before)
        self._socket.listen(CALLERS_MAX)
        self._thread = threading.Thread(target=self._run, name="lab-control", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take no more orders; those under way are finished."""
        self._is_stopping = True
        self._stopped.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for caller in list(self._callers):
            if caller is not threading.current_thread():
                caller.join()
        self._path.unlink(missing_ok=True)

    def _run(self) -> None:
        while not self._is_stopping:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                # without a free descriptor the caller stays in the queue until there is one
                self._stopped.wait(RETRY_S)
                continue
            self._room.acquire()
            caller = threading.Thread(
                target=self._serve, args=(connection,), name="lab-caller", daemon=True
            )
            self._callers.add(caller)
            caller.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(LINE_S_MAX)
                line = _read_line(connection, LINE_BYTES_MAX)
                connection.sendall(json.dumps(self._answer(line)).encode() + b"\n")
        except OSError:
            pass  # the caller has gone
        finally:
            self._callers.discard(threading.current_thread())
            self._room.release()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            order: Any = json.loads(line)
            if not isinstance(order, dict):
                raise InvalidRequest("a command is a JSON object")
            return {"ok": self._handle(order)}  # pyright: ignore[reportUnknownArgumentType]
        except KedgeError as refusal:
            mine = isinstance(refusal, InvalidRequest | Unsatisfiable)
            whose = "caller" if mine else "lab"
            return {"error": refusal.what, "hint": refusal.hint, "whose": whose}
        except (ValueError, TypeError, KeyError) as fault:
            return {"error": f"not an order: {fault}", "hint": "", "whose": "caller"}
        except Exception as fault:
            return {"error": f"the lab stumbled: {fault}", "hint": "", "whose": "lab"}


def _read_line(connection: socket.socket, bytes_max: int) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        part = connection.recv(65_536)
        if not part or len(line) > bytes_max:
            break
        line += part
    return bytes(line)


# ---- the caller's side --------------------------------------------------------------------------


def order(path: Path, what: str, *, timeout_s: float = 60.0, **details: object) -> Any:
    """Give an order to the lab at a socket; its refusal is raised here."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with connection:
        connection.settimeout(timeout_s)
        try:
            with _address(path) as address:
                connection.connect(address)
            connection.sendall(json.dumps({"do": what, **details}).encode() + b"\n")
            line = _read_line(connection, ANSWER_BYTES_MAX)
            answer: Any = json.loads(line)
        except (OSError, ValueError) as error:
            raise Unavailable(
                f"the lab in {path.parent} does not answer", hint="is it running?"
            ) from error
    if "ok" in answer:
        return answer["ok"]
    refusal = InvalidRequest if answer.get("whose") == "caller" else BrokerFailed
    raise refusal(
        answer.get("error", "the lab sent an answer that cannot be read"),
        hint=answer.get("hint", ""),
    )
