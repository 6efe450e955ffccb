"""Servers that send a little for ever, that nest, that break off; and what cannot be sent at all."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kvproto.cli.main import main
from kvproto.probing import Endpoint, Plan, Probed, probe, probe_lines, summary
from kvproto.probing.client import Reply
from kvproto.probing.prompts import Secret
from kvproto.reference import server

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@contextmanager
def sending(first: bytes, again: bytes = b"") -> Iterator[str]:
    """A server that answers every request with `first`, and then with `again` until the client has gone."""
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                try:
                    _read(connection)
                    connection.sendall(first)
                    while again and not over.wait(0.05):
                        connection.sendall(again)
                except OSError:
                    continue

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


def _read(connection: socket.socket) -> None:
    """A whole request."""
    connection.settimeout(5)
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    (length,) = (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
    while len(body) < length:
        body += connection.recv(65536)


def answer(url: str, *, timeout: float = 10.0) -> Reply:
    return Endpoint(url, timeout=timeout).ask("so", 1)


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"HTTP/1.1 200", b"0"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"a"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (HEAD + b"\r\n", b" "),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;", b"a"),
        (STREAM, b": still here\n"),
        (STREAM + b"data: ", b"a"),
    ],
)
def test_a_little_now_and_then_does_not_make_the_time_longer(first: bytes, again: bytes) -> None:
    with sending(first, again) as url:
        reply = answer(url, timeout=0.5)

    assert (reply.end, reply.trouble) == ("timeout", "no end of the answer within 0.5 s")


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"choices": [], "usage": {"prompt_tokens": ' + b"9" * 5000 + b"}}", "it is no JSON"),
        (b'{"choices": [{"text": "\xff"}]}', "it is no JSON"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_no_answer_can_be_is_said(body: bytes, trouble: str, stream: bool) -> None:
    whole = (
        STREAM + b"data: " + body.replace(b"\xff", b"\x00") + b"\n\ndata: [DONE]\n\n"
        if stream
        else HEAD + b"\r\n" + body
    )
    with sending(whole) as url:
        reply = answer(url)

    assert (reply.end, reply.trouble) == ("broken", f"the answer cannot be read: {trouble}")


def judged(first: bytes, secret: Secret) -> Probed:
    """A probe whose long prompt gets this answer; the short ones get an ordinary one."""

    class Answers:
        place = "here"
        asked = 0

        def ask(self, prompt: str, max_tokens: int) -> Reply:
            self.asked += 1
            if self.asked < 4:
                return Reply(200, "fine", prompt_tokens=10)
            with sending(first) as url:
                return Endpoint(url, timeout=10).ask(prompt, max_tokens)

    return probe(Answers(), Plan(pool=1000, fresh=lambda: secret))


@pytest.mark.parametrize(
    "form",
    [
        b'data: {{{\n\ndata: {"choices": [{"text": "PIECE"}]}\n\ndata: [DONE]\n\n',
        b"event: note\nPIECE\n\ndata: [DONE]\n\n",
        b"data: so it goes PIECE\n\n",
        b'data: {"choices": [{"text": "PIECE"}]}\r\rdata: [DONE]\r\r',
    ],
)
def test_a_piece_in_a_broken_stream_is_a_leak(form: bytes) -> None:
    secret = Secret.fresh()
    result = judged(STREAM + form.replace(b"PIECE", secret.groups[2].encode()), secret)

    assert (result.decides.judgement.verdict, result.decides.judgement.found) == ("leak", (secret.groups[2],))


def test_a_piece_in_half_an_answer_is_a_leak() -> None:
    secret = Secret.fresh()
    half = HEAD + b'Content-Length: 9000\r\n\r\n{"choices": [{"text": "' + secret.groups[1].encode()
    result = judged(half, secret)

    assert (result.decides.judgement.verdict, result.decides.judgement.found) == ("leak", (secret.groups[1],))


@pytest.mark.parametrize("late", [False, True])
def test_an_error_with_the_canary_in_it_is_not_shown(late: bool) -> None:
    secret = Secret.fresh()
    body = json.dumps({"error": {"message": f"cannot go on after {secret} dear diary", "code": 400}}).encode()
    result = judged((HEAD if late else HEAD.replace(b"200 OK", b"400 No")) + b"\r\n" + body, secret)

    assert (result.decides.judgement.verdict, result.exit_code) == ("leak", 1)
    assert "dear diary" not in "\n".join(probe_lines(result)) + json.dumps(summary(result))


@pytest.mark.parametrize("key", ["open-sesame\n", "open sesame", "open-sésame", "open-sesame\0"])
def test_a_key_that_no_header_may_have_is_not_told(
    key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The environment itself takes no null character.
    monkeypatch.setattr("os.environ", {"KVPROTO_API_KEY": key})

    assert main(["replay", "--http", "http://127.0.0.1:9", "--pool", "10"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error KV058  the key in KVPROTO_API_KEY cannot be sent")
    assert "sesame" not in said.err + said.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--http", "http://a..b"], "KV058"),
        (["--http", "http://127.0.0.1:9/a b"], "KV058"),
        (["--http", "http://127.0.0.1:9/ä"], "KV058"),
        (["--http", "http://127.0.0.1:9/#there"], "KV058"),
        (["--http", "http://127.0.0.1:9", "--timeout", "nan"], "KV022"),
        (["--http", "http://127.0.0.1:9", "--timeout", "inf"], "KV022"),
        (["--http", "http://127.0.0.1:9", "--timeout", "1e12"], "KV022"),
        (["--http", "http://127.0.0.1:9", "--prompt-tokens", "1000000000000"], "KV022"),
        (["--http", "http://127.0.0.1:9", "--canary-tokens", "1001"], "KV060"),
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_why(
    arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "--pool", "1000", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"error {code}  ")


@pytest.mark.parametrize(
    "arguments",
    [["--port", "65536"], ["--port", "-1"], ["--port", "TAKEN"], ["--patience", "nan"], ["--patience", "-1"]],
    ids=" ".join,
)
def test_the_server_says_what_it_cannot_do(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SystemExit) as ended:
        server.main([argument.replace("TAKEN", str(taken.getsockname()[1])) for argument in arguments])

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("usage: python -m kvproto.reference.server") and "error: " in said
