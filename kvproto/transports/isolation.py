"""A network of one's own: loopback and nothing else, for engines that listen on all interfaces."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1
REQUEST = struct.Struct("16sh14x")


def isolate() -> bool:
    """Move this process, which must have one thread, into a network namespace of its own; whether that was possible.

    Root may do so; others may where the kernel lets users have namespaces.  In a container either may be forbidden.
    """
    try:
        library = ctypes.CDLL(None, use_errno=True)
        unshare, enter = library.unshare, library.setns
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
    except (OSError, AttributeError):
        return False
    try:
        for flags in (NEW_NETWORK, NEW_USER | NEW_NETWORK):
            if unshare(flags) != 0:
                continue
            if _loopback_works():
                return True
            # Without loopback nothing works: back to where this came from.
            enter(home, NEW_NETWORK)
    finally:
        os.close(home)
    return False


def _loopback_works() -> bool:
    """Switch the loopback interface on, which in a new namespace is off; whether that was allowed."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            name, flags = REQUEST.unpack(fcntl.ioctl(any_socket, GET_FLAGS, REQUEST.pack(b"lo", 0)))
            fcntl.ioctl(any_socket, SET_FLAGS, REQUEST.pack(name, flags | UP))
        except OSError:
            return False
    return True
