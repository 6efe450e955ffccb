"""A network of one's own: loopback and nothing else, for engines that listen on all interfaces."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1
REQUEST = struct.Struct("16sh14x")


def isolate() -> bool:
    """Move this process, which must have one thread, into a network namespace of its own; whether that was possible.

    Root may do so; others may where the kernel lets users have namespaces.
    """
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
    except (OSError, AttributeError):
        return False
    if unshare(NEW_NETWORK) != 0 and unshare(NEW_USER | NEW_NETWORK) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = REQUEST.pack(b"lo", 0)
        name, flags = REQUEST.unpack(fcntl.ioctl(any_socket, GET_FLAGS, asked))
        fcntl.ioctl(any_socket, SET_FLAGS, REQUEST.pack(name, flags | UP))
    return True
