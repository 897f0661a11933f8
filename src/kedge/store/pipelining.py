"""How kazoo is made to pipeline: many requests in one write, many replies in one read.

Left to itself kazoo spends some twenty system calls on each request: it makes a selector for each
read and each write, wakes its own thread through a socket pair, and reads the four bytes of a
length by themselves. All of that goes through the handler that a client is given, which is a
documented seam. The handler here gives it buffered sockets, and answers "is it ready?" from the
buffers as long as it can. Nothing of the protocol is touched.

A request waits in the buffer until kazoo's loop has nothing more to send and asks for input, or
until the buffer is large.
"""

from __future__ import annotations

import select
import socket
import threading
from typing import Any, cast

from kazoo.handlers.threading import SequentialThreadingHandler

_READ_BYTES = 256 * 1024
_WRITE_BYTES = 32 * 1024
_GREETING_S_MIN = 2.0


class BufferedSocket:
    """A non-blocking socket that reads ahead and gathers writes; kazoo's loop is its one user."""

    def __init__(self, plain: socket.socket) -> None:
        self._plain = plain
        self._ahead = memoryview(b"")
        self._behind = bytearray()
        self.greeted = False  # whether the other end ever said anything

    def pending(self) -> int:
        """How much can be read without asking the system (kazoo asks TLS sockets the same)."""
        return len(self._ahead)

    def recv(self, size: int) -> bytes:
        if not self._ahead:
            self._ahead = memoryview(self._plain.recv(_READ_BYTES))
            self.greeted = True
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        return bytes(taken)

    def send(self, content: bytes | bytearray | memoryview) -> int:
        self._behind += content
        if len(self._behind) >= _WRITE_BYTES:
            self.push()
        return len(content)

    def sendall(self, content: bytes) -> None:
        self.send(content)
        self.push()

    def push(self) -> bool:
        """Hand as much as possible to the system; whether nothing is left."""
        while self._behind:
            try:
                sent = self._plain.send(self._behind)
            except BlockingIOError:
                return False
            del self._behind[:sent]
        return True

    @property
    def full(self) -> bool:
        """Whether the reader at the other end must catch up first."""
        return len(self._behind) >= _WRITE_BYTES

    def fileno(self) -> int:
        return self._plain.fileno()

    def getpeername(self) -> Any:
        return self._plain.getpeername()

    def setblocking(self, flag: bool) -> None:
        self._plain.setblocking(flag)

    def close(self) -> None:
        self._plain.close()


class Bell:
    """Both ends of a wake-up pair: a count of rings, with one byte on the wire while not zero."""

    def __init__(self) -> None:
        self._hearing, self._ringing = socket.socketpair()
        self._rings = 0
        self._lock = threading.Lock()

    def pending(self) -> int:
        return self._rings

    def send(self, content: bytes) -> int:
        with self._lock:
            self._rings += 1
            if self._rings == 1:
                self._ringing.send(b"\0")
        return len(content)

    def recv(self, _size: int) -> bytes:
        with self._lock:
            if self._rings == 0:
                raise BlockingIOError("nobody rang")
            self._rings -= 1
            if self._rings == 0:
                self._hearing.recv(1)
        return b"\0"

    def fileno(self) -> int:
        return self._hearing.fileno()

    def close(self) -> None:
        self._hearing.close()
        self._ringing.close()


class PipeliningHandler(SequentialThreadingHandler):
    """kazoo's threading handler with buffers in front of its sockets."""

    def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        made = cast("socket.socket", super().create_connection(*args, **kwargs))
        # a TLS socket buffers by itself and does not split its writes where we would
        return made if kwargs.get("use_ssl") else BufferedSocket(made)

    def create_socket_pair(self) -> Any:
        bell = Bell()
        return bell, bell

    def select(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, readers: list[Any], writers: list[Any], others: list[Any], timeout: float | None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Who is ready, by the buffers if they know, else by the system."""
        if not readers and writers and not _is_full(writers[0]):
            return [], writers, []
        ready = [each for each in readers if _pending(each)]
        if ready:
            return ready, [], []
        return _wait(readers, writers, _patience(readers, timeout))


def _patience(readers: list[Any], timeout: float | None) -> float | None:
    """How long to wait: less for a server that took our call and has not said a word.

    A server that is just starting may accept a connection and forget it. kazoo would wait for a
    whole session timeout, and the session would be lost with it.
    """
    silent = any(isinstance(each, BufferedSocket) and not each.greeted for each in readers)
    if timeout is None or not silent:
        return timeout
    return min(timeout, max(_GREETING_S_MIN, timeout / 4))


def _pending(each: Any) -> int:
    return each.pending() if isinstance(each, BufferedSocket | Bell) else 0


def _is_full(each: Any) -> bool:
    # an unbuffered (TLS) socket has no room that we know of: the system is asked
    return each.full if isinstance(each, BufferedSocket) else True


def _wait(
    readers: list[Any], writers: list[Any], timeout: float | None
) -> tuple[list[Any], list[Any], list[Any]]:
    """Ask the system, pushing out meanwhile what is still buffered."""
    poll = select.poll()
    by_file = {each.fileno(): each for each in (*readers, *writers)}
    for file, each in by_file.items():
        unsent = isinstance(each, BufferedSocket) and not each.push()
        wanted = (select.POLLIN if each in readers else 0) | (
            select.POLLOUT if unsent or each in writers else 0
        )
        poll.register(file, wanted)
    events = dict(poll.poll(None if timeout is None else max(0, int(timeout * 1000))))
    for file, event in events.items():
        if event & select.POLLOUT and isinstance(by_file[file], BufferedSocket):
            by_file[file].push()
    broken = select.POLLERR | select.POLLHUP | select.POLLNVAL
    readable = select.POLLIN | broken
    writable = select.POLLOUT | broken
    return (
        [each for each in readers if events.get(each.fileno(), 0) & readable],
        [each for each in writers if events.get(each.fileno(), 0) & writable],
        [],
    )
