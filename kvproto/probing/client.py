"""One request to an OpenAI-compatible endpoint, whole or streamed, and what came back.

The standard library is enough for that, and follows no redirect with a prompt or a key.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from kvproto.diagnostics import KvError

MOST_ANSWER = 32 << 20
"""Bytes of an answer that are read."""

MOST_LINE = 1 << 20

End = Literal["answered", "timeout", "broken"]


class Unreadable(ValueError):
    """What came back is no answer; the text says why, and nothing of it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    `status` is that of the error inside an answer of status 200 if there is one (`late`).  `error` is the message of
    an error in the API's form, None where there is none; `trouble` says why an answer could not be read to its end.
    `other` is every text in what came back, wherever it stands.
    """

    status: int
    text: str = ""
    error: str | None = None
    prompt_tokens: int | None = None
    finish: str = ""
    late: bool = False
    seconds: float = 0.0
    end: End = "answered"
    trouble: str = ""
    other: str = field(default="", repr=False)


@dataclass(slots=True)
class _Reading:
    """The answer as far as it has been read."""

    status: int = 0
    text: list[str] = field(default_factory=list)
    error: str | None = None
    prompt_tokens: int | None = None
    finish: str = ""
    late: bool = False
    other: list[str] = field(default_factory=list)

    def take(self, value: object) -> None:
        """One JSON object: a whole answer, a part of a streamed one, or an error."""
        self.other += _texts(value)
        if not isinstance(value, dict):
            raise Unreadable("it is no JSON object")
        problem = value.get("error")
        if problem is not None or value.get("object") == "error":
            self._fail(problem if problem is not None else value)
            return
        usage = value.get("usage")
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        if isinstance(tokens, int) and not isinstance(tokens, bool):
            self.prompt_tokens = tokens
        choices = value.get("choices")
        if not isinstance(choices, list):
            raise Unreadable("it has no choices")
        for choice in choices:
            self._choice(choice)

    def _choice(self, choice: object) -> None:
        if not isinstance(choice, dict):
            raise Unreadable("a choice is no object")
        for part in (choice, choice.get("message"), choice.get("delta")):
            if isinstance(part, dict):
                # Reasoning is text that the model wrote, too.
                self.text += [part[key] for key in ("text", "content", "reasoning_content") if _is_text(part, key)]
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            self.finish = reason
        elif isinstance(reason, dict):
            # The engine's own form: {"type": "abort", "message": ..., "status_code": 400}.
            self.finish = str(reason.get("type"))
            if self.finish == "abort":
                self._fail({"message": reason.get("message"), "code": reason.get("status_code")})

    def _fail(self, problem: object) -> None:
        told = problem if isinstance(problem, dict) else {"message": problem}
        self.error = str(told.get("message") or "an error without a message")
        code = told.get("code", told.get("status_code"))
        if self.status == 200:
            self.late = True
            # An error without a code is one of the server's.
            self.status = code if isinstance(code, int) and 400 <= code < 600 else 500


def _texts(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += reversed(one.values())
        elif isinstance(one, list):
            left += reversed(one)


def _is_text(part: dict[str, Any], key: str) -> bool:
    return isinstance(part.get(key), str)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go.  `url` may end at the host, at `/v1`, or name the path itself."""

    url: str
    model: str = ""
    chat: bool = False
    stream: bool = False
    timeout: float = 300.0
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        parts = self._parts()
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise KvError(
                "KV058",
                "--http takes the address of a server",
                reason="it has the form http://HOST:PORT, https is fine, without a name, a password or a query in it",
                cure="write --http http://localhost:30000, and put a key into KVPROTO_API_KEY",
            )
        if not (_plain(parts.path) and not parts.fragment):
            raise KvError(
                "KV058",
                "the path of --http cannot be asked for",
                reason="it has a space, a fragment or a letter that addresses do not have",
                cure="write it as a server is asked, for instance %20 for a space",
            )
        if not _plain(self.key):
            # Without the key: what is printed here may be kept in a log.
            raise KvError(
                "KV058",
                "the key in KVPROTO_API_KEY cannot be sent",
                reason="it has a space, a line end or another character that no header may have",
                cure="set it without what stands around it:  export KVPROTO_API_KEY=$(cat FILE)",
            )

    def _parts(self) -> SplitResult:
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError:
            return urlsplit("")
        return parts

    @property
    def place(self) -> str:
        """Host and port, as messages name the endpoint."""
        return self._parts().netloc

    @property
    def path(self) -> str:
        """Where completions are asked for."""
        path = self._parts().path.rstrip("/")
        if path.endswith("completions"):
            return path
        base = path if path.endswith("/v1") else f"{path}/v1"
        return f"{base}/chat/completions" if self.chat else f"{base}/completions"

    def ask(self, prompt: str, max_tokens: int) -> Reply:
        """Send a prompt and read the answer.  Raises KV058 if there is nobody to send it to."""
        asked: dict[str, Any] = {"model": self.model or "default", "max_tokens": max_tokens, "temperature": 0}
        if self.path.endswith("chat/completions"):
            asked["messages"] = [{"role": "user", "content": prompt}]
        else:
            asked["prompt"] = prompt
        if self.stream:
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
        connection = self._connect()
        begun = time.monotonic()
        reading = _Reading()
        end: End = "answered"
        trouble = ""
        deadline = begun + self.timeout
        try:
            with _ended_at(connection, deadline):
                _send(connection, self.path, json.dumps(asked).encode(), self._headers())
                _read(connection.getresponse(), reading, deadline)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            if isinstance(problem, TimeoutError) or time.monotonic() > deadline:
                end, trouble = "timeout", f"no end of the answer within {self.timeout:g} s"
            else:
                end, trouble = "broken", f"the answer cannot be read: {_said(problem)}"
        finally:
            connection.close()
        r = reading
        text, other, seconds = "".join(r.text), " ".join(r.other), time.monotonic() - begun
        return Reply(r.status, text, r.error, r.prompt_tokens, r.finish, r.late, seconds, end, trouble, other)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        return headers | ({"Authorization": f"Bearer {self.key}"} if self.key else {})

    def _connect(self) -> http.client.HTTPConnection:
        parts = self._parts()
        assert parts.hostname is not None
        make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = make(parts.hostname, parts.port, timeout=self.timeout)
        try:
            connection.connect()
        except (OSError, UnicodeError) as problem:
            connection.close()
            raise KvError(
                "KV058",
                f"{self.place} cannot be reached: {_said(problem)}",
                reason="nothing was sent",
                cure="check the address, and that the server is up:  curl URL/v1/models",
            ) from None
        return connection


def _said(problem: BaseException) -> str:
    """What went wrong, without what was sent or read."""
    if isinstance(problem, ssl.SSLError):
        return "the encrypted connection does not come about"
    if isinstance(problem, TimeoutError):
        return "nobody answers in time"
    if isinstance(problem, OSError):
        return (problem.strerror or "the connection ended").lower()
    if isinstance(problem, UnicodeError):
        return "this is no name of a host"
    return str(problem) if isinstance(problem, Unreadable) else "it is no HTTP"


def _plain(text: str) -> bool:
    """Whether a text can stand in the head of a request."""
    return text.isascii() and text.isprintable() and " " not in text


@contextlib.contextmanager
def _ended_at(connection: http.client.HTTPConnection, deadline: float) -> Iterator[None]:
    """End a connection at a time, whatever it is used for then: one byte now and then keeps every read waiting."""
    used = connection.sock

    def end() -> None:
        with contextlib.suppress(OSError):
            # Not by way of an encrypted socket, which another thread may be reading.
            socket.socket.shutdown(used, socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _send(connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> None:
    try:
        connection.request("POST", path, body, headers)
    except (BrokenPipeError, ConnectionResetError):
        # A server may refuse a long body before it has read it; its answer is there all the same.
        return


def _read(response: http.client.HTTPResponse, reading: _Reading, deadline: float) -> None:
    reading.status = response.status
    if "text/event-stream" in (response.getheader("Content-Type") or ""):
        _read_stream(response, reading, deadline)
        return
    parts: list[bytes] = []
    try:
        _read_whole(response, parts, deadline)
        reading.take(_parsed(b"".join(parts)))
    except (OSError, http.client.HTTPException, ValueError) as problem:
        # Half an answer can hold the canary, too.
        reading.other.append(b"".join(parts).decode("utf-8", "replace"))
        # An error page of a proxy is an answer, if not the API's; a 200 has to be one.
        if response.status == 200 or not isinstance(problem, Unreadable):
            raise


def _parsed(raw: bytes | str) -> object:
    try:
        return json.loads(raw)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError:
        raise Unreadable("it is no JSON") from None


def _read_whole(response: http.client.HTTPResponse, parts: list[bytes], deadline: float) -> None:
    """Add the body to `parts`.  The time limit is for the whole of it."""
    size = 0
    while part := response.read1(1 << 16):
        size += len(part)
        parts.append(part)
        _in_time(deadline)
        if size > MOST_ANSWER:
            raise Unreadable(f"it is longer than {MOST_ANSWER >> 20} MiB")


def _read_stream(response: http.client.HTTPResponse, reading: _Reading, deadline: float) -> None:
    """Read a stream to its end mark.  What is not understood is kept, and the rest is read all the same."""
    trouble: Unreadable | None = None
    for text in _lines(response, deadline):
        data = text.removeprefix("data:").strip()
        if data == "[DONE]":
            break
        try:
            if text.startswith("data:"):
                reading.take(_parsed(data))
            else:
                reading.other.append(text)
        except Unreadable as problem:
            reading.other.append(data)
            trouble = trouble or problem
    else:
        trouble = trouble or Unreadable("the stream ends before its end mark")
    if trouble is not None:
        raise trouble


def _lines(response: http.client.HTTPResponse, deadline: float) -> Iterator[str]:
    """The lines of a stream, which may end in any of three ways."""
    size = 0
    while line := response.readline(MOST_LINE):
        size += len(line)
        _in_time(deadline)
        if size > MOST_ANSWER or len(line) == MOST_LINE:
            raise Unreadable("the stream is too long")
        yield from (part.strip() for part in re.split("[\r\n]+", line.decode("utf-8", "replace")) if part.strip())


def _in_time(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError
