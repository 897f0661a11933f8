"""The Unix socket for commands to a lab in another process: one line of JSON each way.

    {"do": "inject", "kind": "broker-crash", "arguments": ["2"]}
    {"ok": "broker 2 has crashed"}          or     {"error": "…", "hint": "…", "whose": "caller"}

The socket is in the lab's directory, and only the owner of the directory can connect.
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
RESPONSE_BYTES_MAX = 256 << 20
LINE_S_MAX = 10.0
CALLERS_MAX = 8
RETRY_S = 0.1  # after a failed accept
PATH_BYTES_MAX = 100  # Linux allows 107

Handler = Callable[[dict[str, Any]], object]


@contextmanager
def _address(path: Path) -> Generator[str]:
    """The address of a socket; a path too long for Linux is shortened through /proc."""
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield str(path)
        return
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{parent}/{path.name}"
    finally:
        os.close(parent)


# ---- server side --------------------------------------------------------------------------------


class ControlServer:
    """Serves commands until it is stopped."""

    def __init__(self, path: Path, handle: Handler) -> None:
        self._path = path
        self._handle = handle
        self._free_slots = threading.BoundedSemaphore(CALLERS_MAX)
        self._callers: set[threading.Thread] = set()
        self._is_stopping = False
        self._stopped = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path.unlink(missing_ok=True)  # left by a killed process: this process holds the lock
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
        """Accept no more commands; running commands are finished."""
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
                # out of file descriptors: the connection stays in the backlog until one is free
                self._stopped.wait(RETRY_S)
                continue
            self._free_slots.acquire()
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
                connection.sendall(json.dumps(self._response(line)).encode() + b"\n")
        except OSError:
            pass  # the client has disconnected
        finally:
            self._callers.discard(threading.current_thread())
            self._free_slots.release()

    def _response(self, line: bytes) -> dict[str, Any]:
        try:
            command: Any = json.loads(line)
            if not isinstance(command, dict):
                raise InvalidRequest("a command is a JSON object")
            return {"ok": self._handle(command)}  # pyright: ignore[reportUnknownArgumentType]
        except KedgeError as refusal:
            is_callers_fault = isinstance(refusal, InvalidRequest | Unsatisfiable)
            whose = "caller" if is_callers_fault else "lab"
            return {"error": refusal.what, "hint": refusal.hint, "whose": whose}
        except (ValueError, TypeError, KeyError) as fault:
            return {"error": f"malformed command: {fault}", "hint": "", "whose": "caller"}
        except Exception as fault:
            return {"error": f"internal error of the lab: {fault}", "hint": "", "whose": "lab"}


def _read_line(connection: socket.socket, bytes_max: int) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        part = connection.recv(65_536)
        if not part or len(line) > bytes_max:
            break
        line += part
    return bytes(line)


# ---- client side --------------------------------------------------------------------------------


def send_command(path: Path, name: str, *, timeout_s: float = 60.0, **details: object) -> Any:
    """Send a command to the lab at a socket; its error is raised here."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with connection:
        connection.settimeout(timeout_s)
        try:
            with _address(path) as address:
                connection.connect(address)
            connection.sendall(json.dumps({"do": name, **details}).encode() + b"\n")
            line = _read_line(connection, RESPONSE_BYTES_MAX)
            response: Any = json.loads(line)
        except (OSError, ValueError) as error:
            raise Unavailable(
                f"the lab in {path.parent} does not respond", hint="is it running?"
            ) from error
    if "ok" in response:
        return response["ok"]
    refusal = InvalidRequest if response.get("whose") == "caller" else BrokerFailed
    raise refusal(
        response.get("error", "the lab sent a malformed response"),
        hint=response.get("hint", ""),
    )
