"""A relay in front of a server that can cut a connection at the worst moment, or say nothing."""

from __future__ import annotations

import contextlib
import socket
import threading


class Relay:
    """Passes bytes both ways; told to, it swallows the next reply and hangs up instead, or keeps
    everything that it is given until `flowing` is set again."""

    def __init__(self, server: str) -> None:
        host, _, port = server.partition(":")
        self._server = (host, int(port))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.swallow_next_reply = False
        self.flowing = threading.Event()
        self.flowing.set()
        self._sockets: list[socket.socket] = [self._listening]
        self._spawn(self._accept)

    def close(self) -> None:
        self.flowing.set()
        for each in self._sockets:
            _hang_up(each)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                self._spawn(self._pass_requests, client, server)
                self._spawn(self._pass_replies, client, server)

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := client.recv(65_536):
                self.flowing.wait()
                server.sendall(content)
        _hang_up(server)

    def _pass_replies(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := server.recv(65_536):
                self.flowing.wait()
                if self.swallow_next_reply:
                    self.swallow_next_reply = False
                    break
                client.sendall(content)
        _hang_up(client)

    def _spawn(self, target: object, *args: object) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()  # pyright: ignore[reportArgumentType]


def _hang_up(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
