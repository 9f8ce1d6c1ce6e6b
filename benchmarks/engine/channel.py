"""Messages between pytest and rank 0: one JSON object a line over a loopback socket.

JSON, not pickle, because the two ends may run different Pythons and revisions of this suite.
"""

import json
import secrets
import select
import socket
import time
from collections.abc import Callable
from typing import Any, Self

Message = dict[str, Any]


class ChannelClosed(Exception):
    """The other end is gone."""


class Channel:
    """A connected pair's one end; `receive` blocks without using the CPU."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pending = b""

    @classmethod
    def connect(cls, port: int, token: str) -> Self:
        channel = cls(socket.create_connection(("127.0.0.1", port)))
        channel.send({"token": token})
        return channel

    def send(self, message: Message) -> None:
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Message | None:
        """The next message, or None when none came within `timeout_s` seconds."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._socket], [], [], left)[0]:
                return None
            try:
                received = self._socket.recv(1 << 16)
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not received:
                raise ChannelClosed("closed by the other end")
            self._pending += received
        line, _, self._pending = self._pending.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def close(self) -> None:
        self._socket.close()


class Door:
    """Where one arm's rank 0 knocks; whoever lacks the token is turned away."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.token = secrets.token_hex(16)

    def accept(self, timeout_s: float, alive: Callable[[], bool]) -> Channel | None:
        """The channel, or None when nobody came in time or the arm died meanwhile."""
        deadline = time.monotonic() + timeout_s
        self._server.settimeout(0.1)
        while time.monotonic() < deadline and alive():
            try:
                connection, _ = self._server.accept()
            except TimeoutError:
                continue
            connection.setblocking(True)
            channel = Channel(connection)
            try:
                greeting = channel.receive(timeout_s=1.0)
            except (ChannelClosed, ValueError):
                greeting = None
            if greeting == {"token": self.token}:
                return channel
            channel.close()
        return None

    def close(self) -> None:
        self._server.close()
