"""The wire format of Mooncake's TCP transport, as release 0.3.13 speaks it.  It is private: hence the pinned wheel.

A request is a header of 24 bytes (size, address in the receiver, operation, framing) and the bytes.  In framing 2 the
receiver answers with 8 bytes once it has applied them; in framing 1 it does not answer, and the sender takes "all has
left" for success.  Before the first request the sender asks the receiver, on another port, where requests go: a
length, a byte that says what kind of message this is, and JSON.
"""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass

HEADER = struct.Struct("<QQB7x")
LENGTH = struct.Struct("<Q")
WRITE = 0x01
FRAMING_2 = 0x80
DESCRIBE = 0x01
MAGIC = int.from_bytes(b"VTCM", "little") << 32
"""What the receiver's answer begins with; the low half is its status."""

APPLIED = LENGTH.pack(MAGIC)
LOOPBACK = "127.0.0.1"
PATIENCE = 30.0
"""Seconds that one socket operation may take: a machine under load is slow, and one that hangs has to be told."""


@dataclass(frozen=True, slots=True)
class Request:
    """A write as it came off the wire."""

    header: bytes
    size: int
    address: int
    framing: int
    body: bytes


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes; raises EOFError if the other side ends before."""
    data = bytearray()
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError(f"the connection ended after {len(data)} of {count} bytes")
        data += more
    return bytes(data)


def read_request(connection: socket.socket) -> Request:
    """The next write of a sender."""
    header = read_exactly(connection, HEADER.size)
    size, address, operation = HEADER.unpack(header)
    if operation & ~FRAMING_2 != WRITE:
        raise ValueError(f"operation {operation:#x} is no write")
    framing = 2 if operation & FRAMING_2 else 1
    return Request(header, size, address, framing, read_exactly(connection, size))


def read_message(connection: socket.socket) -> bytes:
    """A message of the handshake, without its length."""
    (length,) = LENGTH.unpack(read_exactly(connection, LENGTH.size))
    return read_exactly(connection, length)


def send_message(connection: socket.socket, message: bytes) -> None:
    """A message of the handshake, with its length before it."""
    connection.sendall(LENGTH.pack(len(message)) + message)


def redirected(message: bytes, port: int) -> tuple[bytes, int | None]:
    """A description that names `port` as the place where requests go, and the place that it named before."""
    try:
        description = json.loads(message[1:])
        told = int(description["tcp_data_port"])
    except (ValueError, KeyError, TypeError):
        return message, None
    description["tcp_data_port"] = port
    return message[:1] + json.dumps(description).encode(), told


def connect(port: int) -> socket.socket:
    """A connection on loopback that sends what it is given at once, so that a part of a page is a part."""
    connection = socket.create_connection((LOOPBACK, port), PATIENCE)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def describe(port: int) -> int:
    """Ask a receiver where its requests go, as a sender does that has no memory of its own."""
    asked = {"name": f"{LOOPBACK}:1", "protocol": "tcp", "tcp_data_port": 1, "timestamp": "", "buffers": []}
    with connect(port) as connection:
        send_message(connection, bytes([DESCRIBE]) + json.dumps(asked).encode())
        return int(json.loads(read_message(connection)[1:])["tcp_data_port"])


class Sender:
    """One write towards a receiver, byte by byte: the half of a sending engine that meets the wire."""

    def __init__(self, port: int, header: bytes) -> None:
        self._connection = connect(port)
        self._framing = 2 if HEADER.unpack(header)[2] & FRAMING_2 else 1
        self._connection.sendall(header)

    def send(self, data: bytes) -> None:
        """The next bytes."""
        self._connection.sendall(data)

    def finish(self) -> int | None:
        """Wait for the receiver's answer, if there is one in this framing: 0 once it has applied all."""
        try:
            if self._framing == 1:
                return None
            (answer,) = LENGTH.unpack(read_exactly(self._connection, LENGTH.size))
            return int(answer & 0xFFFFFFFF)
        finally:
            self._connection.close()

    def close(self) -> None:
        """Leave the rest unsent."""
        self._connection.close()


def header(size: int, address: int, framing: int) -> bytes:
    """What a write begins with."""
    return HEADER.pack(size, address, WRITE | (FRAMING_2 if framing == 2 else 0))
