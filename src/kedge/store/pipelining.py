"""Makes kazoo pipeline its requests: many requests in one write, many replies in one read.

By default kazoo makes some twenty system calls for each request: it creates a selector for each
read and each write, wakes its own thread through a socket pair, and reads the four bytes of a
length separately. All of them go through the client's handler, which is a documented extension
point. The handler here supplies buffered sockets, and answers "is it ready?" from the buffers where
it can. The protocol is unchanged.

A request stays in the buffer until kazoo's loop has nothing more to send and waits for input, or
until the buffer is full.
"""

from __future__ import annotations

import select
import socket
import threading
from typing import Any, cast

from kazoo.handlers.threading import SequentialThreadingHandler

_READ_BYTES = 256 * 1024
_WRITE_BYTES = 32 * 1024
_FIRST_REPLY_S_MIN = 2.0


class BufferedSocket:
    """A non-blocking socket with a read-ahead buffer and a write buffer, for kazoo's loop."""

    def __init__(self, plain: socket.socket) -> None:
        self._socket = plain
        self._read_buffer = memoryview(b"")
        self._write_buffer = bytearray()
        self.has_received = False  # whether the server ever sent anything

    def pending(self) -> int:
        """How many bytes can be read without a system call (kazoo calls it for TLS sockets)."""
        return len(self._read_buffer)

    def recv(self, size: int) -> bytes:
        if not self._read_buffer:
            self._read_buffer = memoryview(self._socket.recv(_READ_BYTES))
            self.has_received = True
        taken, self._read_buffer = self._read_buffer[:size], self._read_buffer[size:]
        return bytes(taken)

    def send(self, content: bytes | bytearray | memoryview) -> int:
        self._write_buffer += content
        if len(self._write_buffer) >= _WRITE_BYTES:
            self.flush()
        return len(content)

    def sendall(self, content: bytes) -> None:
        self.send(content)
        self.flush()

    def flush(self) -> bool:
        """Write as much of the buffer as possible; return whether it is empty."""
        while self._write_buffer:
            try:
                sent = self._socket.send(self._write_buffer)
            except BlockingIOError:
                return False
            del self._write_buffer[:sent]
        return True

    @property
    def full(self) -> bool:
        """Whether kazoo must wait for the server to read before it sends more."""
        return len(self._write_buffer) >= _WRITE_BYTES

    def fileno(self) -> int:
        return self._socket.fileno()

    def getpeername(self) -> Any:
        return self._socket.getpeername()

    def setblocking(self, flag: bool) -> None:
        self._socket.setblocking(flag)

    def close(self) -> None:
        self._socket.close()


class WakeUpSocket:
    """Both ends of a wake-up pair: a count of signals, with one byte sent while it is not 0."""

    def __init__(self) -> None:
        self._receiver, self._sender = socket.socketpair()
        self._signals = 0
        self._lock = threading.Lock()

    def pending(self) -> int:
        return self._signals

    def send(self, content: bytes) -> int:
        with self._lock:
            self._signals += 1
            if self._signals == 1:
                self._sender.send(b"\0")
        return len(content)

    def recv(self, _size: int) -> bytes:
        with self._lock:
            if self._signals == 0:
                raise BlockingIOError("no signal is pending")
            self._signals -= 1
            if self._signals == 0:
                self._receiver.recv(1)
        return b"\0"

    def fileno(self) -> int:
        return self._receiver.fileno()

    def close(self) -> None:
        self._receiver.close()
        self._sender.close()


class PipeliningHandler(SequentialThreadingHandler):
    """kazoo's threading handler with buffers in front of its sockets."""

    def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        connection = cast("socket.socket", super().create_connection(*args, **kwargs))
        # a TLS socket has its own buffer and splits writes differently
        return connection if kwargs.get("use_ssl") else BufferedSocket(connection)

    def create_socket_pair(self) -> Any:
        wake_up = WakeUpSocket()
        return wake_up, wake_up

    def select(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, readers: list[Any], writers: list[Any], others: list[Any], timeout: float | None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the ready sockets, by the state of the buffers or else by poll()."""
        if not readers and writers and not _is_full(writers[0]):
            return [], writers, []
        ready = [each for each in readers if _pending_bytes(each)]
        if ready:
            return ready, [], []
        return _wait(readers, writers, _poll_timeout(readers, timeout))


def _poll_timeout(readers: list[Any], timeout: float | None) -> float | None:
    """Return how long to wait: shorter for a server that has accepted and sent nothing yet.

    A server that is starting may accept a connection and never answer. kazoo would wait for a whole
    session timeout, and the session would expire.
    """
    silent = any(isinstance(each, BufferedSocket) and not each.has_received for each in readers)
    if timeout is None or not silent:
        return timeout
    return min(timeout, max(_FIRST_REPLY_S_MIN, timeout / 4))


def _pending_bytes(each: Any) -> int:
    return each.pending() if isinstance(each, BufferedSocket | WakeUpSocket) else 0


def _is_full(each: Any) -> bool:
    # the buffer of a TLS socket is unknown: poll() decides
    return each.full if isinstance(each, BufferedSocket) else True


def _wait(
    readers: list[Any], writers: list[Any], timeout: float | None
) -> tuple[list[Any], list[Any], list[Any]]:
    """Poll the sockets, and flush write buffers that become writable."""
    poll = select.poll()
    by_file = {each.fileno(): each for each in (*readers, *writers)}
    for file, each in by_file.items():
        unsent = isinstance(each, BufferedSocket) and not each.flush()
        wanted = (select.POLLIN if each in readers else 0) | (
            select.POLLOUT if unsent or each in writers else 0
        )
        poll.register(file, wanted)
    events = dict(poll.poll(None if timeout is None else max(0, int(timeout * 1000))))
    for file, event in events.items():
        if event & select.POLLOUT and isinstance(by_file[file], BufferedSocket):
            by_file[file].flush()
    broken = select.POLLERR | select.POLLHUP | select.POLLNVAL
    readable = select.POLLIN | broken
    writable = select.POLLOUT | broken
    return (
        [each for each in readers if events.get(each.fileno(), 0) & readable],
        [each for each in writers if events.get(each.fileno(), 0) & writable],
        [],
    )
