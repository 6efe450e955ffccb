"""The probe against the reference implementation on loopback: vulnerable, patched in every way, and misconfigured."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kvproto.cli.main import main
from kvproto.probing import Endpoint, Plan, Probed, probe, probe_lines, summary
from kvproto.probing.prompts import Secret, canary, long_prompt
from kvproto.reference.prompts import PAGE_SIZE
from kvproto.reference.server import SIZES, Serving, configured, served

POOL = SIZES.prefill_pool * PAGE_SIZE

LEAKS = [
    {},
    {"page_tags": "on"},  # the tag of an allocation is the reader's own: what was never written has it too
    {"deferred_release": "on", "defer_all_failures": "on", "failed_is_terminal": "on", "conclude_rechecks": "on"},
    {"source_hold": "on", "bounded_batch": "on", "batch_recheck": "on"},
]
"""Settings under which the canary is in the answer; those of the last two are right, against another defect."""

FAILS = [
    {"token_count_check": "on"},
    {"checksum": "on"},
    {"carried_tags": "on"},
    {"retire_after_forward": "on"},
    {"reject_at_admission": "on", "gateway": "off"},
    {"reject_at_admission": "on", "gateway": "off", "prefill_notifies": "on"},
]
"""Settings under which nothing leaks, and the client hears of a failure that is not called its own."""


def probed(sets: dict[str, str], *, late_errors: bool = False, chat: bool = False, **plan: object) -> Probed:
    stream = late_errors or bool(plan.pop("stream", False))
    with served(Serving(*configured(sets), patience=0), late_errors=late_errors) as server:
        endpoint = Endpoint(server.url, chat=chat, stream=stream, timeout=30)
        return probe(endpoint, Plan(**{"pool": POOL} | plan))  # type: ignore[arg-type]


@pytest.mark.parametrize("sets", LEAKS, ids=str)
def test_the_canary_is_in_the_answer(sets: dict[str, str]) -> None:
    result = probed(sets)

    one = result.decides
    assert one.long is not None
    assert (one.judgement.verdict, result.exit_code) == ("leak", 1)
    assert one.judgement.found == one.canary.groups
    assert str(one.canary) in one.long.text
    assert (one.long.status, one.long.error) == (200, None)
    assert one.long.prompt_tokens is not None and one.long.prompt_tokens > POOL


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_a_leak_is_found_in_every_form_of_answer(stream: bool, chat: bool) -> None:
    assert probed({}, stream=stream, chat=chat).decides.judgement.verdict == "leak"


@pytest.mark.parametrize("form", [{}, {"stream": True}, {"late_errors": True}, {"chat": True}], ids=str)
def test_a_refusal_at_the_door_is_the_right_answer(form: dict[str, bool]) -> None:
    result = probed({"reject_at_admission": "on"}, **form)

    one = result.decides
    assert (one.judgement.verdict, result.exit_code) == ("refused", 0)
    assert one.long is not None and one.long.status == 400
    assert one.long.late == ("late_errors" in form)
    assert one.long.error is not None and one.long.error.endswith("the prefill pool takes 24")


@pytest.mark.parametrize("sets", FAILS, ids=str)
def test_an_error_of_the_server_is_no_refusal(sets: dict[str, str]) -> None:
    result = probed(sets)

    assert (result.decides.judgement.verdict, result.exit_code) == ("failed", 3)


def test_blank_pages_are_still_a_wrong_answer() -> None:
    result = probed({"zero_on_release": "on"})

    assert (result.decides.judgement.verdict, result.exit_code) == ("suspicious", 1)
    assert result.decides.judgement.found == ()


def test_a_pool_that_holds_the_prompt_shows_in_the_answer() -> None:
    result = probed({"larger_pool": "on"}, max_tokens=1000)

    assert (result.decides.judgement.verdict, result.exit_code) == ("served", 3)


def test_a_prompt_that_prefill_alone_has_cut_is_no_answer() -> None:
    result = probed({"unequal_lengths": "on"}, max_tokens=1000)

    assert (result.decides.judgement.verdict, result.exit_code) == ("suspicious", 1)


def test_rounds_end_with_the_first_leak() -> None:
    assert len(probed({}, rounds=3).rounds) == 1
    assert len(probed({"reject_at_admission": "on"}, rounds=3).rounds) == 3


def test_every_round_has_its_own_canary() -> None:
    rounds = probed({"reject_at_admission": "on"}, rounds=3).rounds

    assert len({str(one.canary) for one in rounds}) == 3


def test_only_the_canary_judges_nothing() -> None:
    result = probed({}, canary_only=True)

    assert (result.decides.judgement.verdict, result.exit_code, result.decides.long) == ("seeded", 3, None)


@pytest.mark.parametrize("sets", [{}, {"zero_on_release": "on"}, {"reject_at_admission": "on"}], ids=str)
def test_no_answer_is_shown(sets: dict[str, str]) -> None:
    result = probed(sets)

    shown = "\n".join(probe_lines(result)) + json.dumps(summary(result))

    for text in (result.decides.first.text, result.decides.long.text if result.decides.long else ""):
        for at in range(0, len(text) - 24, 24):
            assert text[at : at + 24] in str(result.decides.canary) or text[at : at + 24] not in shown


# ------------------------------------------------------------------------------------------ prompts


def test_pieces_are_found_however_they_are_spaced() -> None:
    secret = Secret(("bcdfgh", "jkmnpq"))

    assert secret.found("x BCD\nFGH y") == ("bcdfgh",)
    assert secret.found("bcdfg h jkmnp") == ("bcdfgh",)
    assert secret.found("bcdfg jkmnp") == ()


@pytest.mark.parametrize("tokens", [120, 1000, 5000])
def test_the_canary_has_at_most_so_many_characters(tokens: int) -> None:
    text = canary(Secret.fresh(), tokens)

    assert tokens - 80 < len(text) <= tokens


def test_the_long_prompt_has_its_mark_at_the_end_only() -> None:
    mark = Secret.fresh()
    text = long_prompt(mark, 500)

    assert len(text.split()) >= 500
    assert mark.found(text[:-120]) == ()
    assert mark.found(text) == mark.groups


# -------------------------------------------------------------------------------- odd servers


@contextmanager
def answering(*answers: bytes) -> Iterator[str]:
    """A server that gives one raw answer after the other, and the last one again and again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        over = threading.Event()
        thread = threading.Thread(target=_serve, args=(listener, list(answers), over), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            thread.join()


def _serve(listener: socket.socket, answers: list[bytes], over: threading.Event) -> None:
    while not over.is_set():
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        with connection:
            connection.settimeout(5)
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            head, _, body = head.partition(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")
            )
            while len(body) < length:
                body += connection.recv(65536)
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if answer == SILENCE:
                over.wait(3)
            else:
                connection.sendall(answer)


def http(status: int, body: str, kind: str = "application/json") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n{body}".encode()


def said(text: str, tokens: int | None = None) -> bytes:
    usage = {} if tokens is None else {"usage": {"prompt_tokens": tokens}}
    return http(200, json.dumps({"choices": [{"text": text}], **usage}))


SILENCE = b""
SHORT, LONGER = said("a", 15), said("a", 45)
ORDINARY = (SHORT, LONGER, said("fine", 300))


@pytest.mark.parametrize(
    ("last", "verdict", "code"),
    [
        (said("so it goes", 1100), "suspicious", 1),
        (said("so it goes"), "suspicious", 1),
        (said("", 1100), "suspicious", 1),
        (said("so it goes", 900), "truncated", 3),
        (http(400, '{"error": {"message": "too long", "code": 400}}'), "refused", 0),
        (http(400, '{"object": "error", "message": "too long", "code": 400}'), "refused", 0),
        (http(422, '{"error": "too long"}'), "refused", 0),
        (http(413, "<html>too large</html>", "text/html"), "unreached", 3),
        (http(429, '{"error": {"message": "slow down"}}'), "unreached", 3),
        (http(401, '{"error": {"message": "who?"}}'), "unreached", 3),
        (http(302, ""), "unreached", 3),
        (http(502, "<html>bad gateway</html>", "text/html"), "unreached", 3),
        (http(500, '{"error": {"message": "it failed"}}'), "failed", 3),
        (http(200, "<html>hello</html>"), "unreadable", 3),
        (http(200, "[1]"), "unreadable", 3),
        (http(200, '{"id": 1}'), "unreadable", 3),
        (http(200, '{"error": {"message": "too long", "code": 400}}'), "refused", 0),
        (http(200, '{"error": {"message": "what"}}'), "failed", 3),
        (http(200, "data: {\n\n", "text/event-stream"), "unreadable", 3),
        (http(200, 'data: {"choices": [{"text": "so"}]}\n\n', "text/event-stream"), "unreadable", 3),
        (
            http(
                200,
                'data: {"choices": [{"text": "", "finish_reason": {"type": "abort", "message": "too long", '
                '"status_code": 400}}]}\n\ndata: [DONE]\n\n',
                "text/event-stream",
            ),
            "refused",
            0,
        ),
        (b"what is this\r\n\r\n", "unreadable", 3),
        (SILENCE, "timeout", 3),
    ],
)
def test_what_an_answer_means(last: bytes, verdict: str, code: int) -> None:
    with answering(*ORDINARY, last) as url:
        result = probe(Endpoint(url, timeout=1.0), Plan(pool=1000))

    assert (result.decides.judgement.verdict, result.exit_code) == (verdict, code)
    assert probe_lines(result) and json.dumps(summary(result))


PLACES = {
    "an error": (400, '{"error": {"message": "cannot go on after: PIECE", "code": 400}}', "application/json"),
    "a page of a proxy": (502, "<html>PIECE</html>", "text/html"),
    "parts": (
        200,
        '{"choices": [{"message": {"content": [{"type": "text", "text": "so: PIECE"}]}}]}',
        "application/json",
    ),
    "a tool call": (200, '{"choices": [{"message": {"tool_calls": [{"name": "PIECE"}]}}]}', "application/json"),
    "reasoning": (200, '{"choices": [{"message": {"reasoning_content": "PIECE"}}]}', "application/json"),
    "two chunks": (
        200,
        'data: {"choices": [{"text": "PI"}]}\n\ndata: {"choices": [{"text": "ECE"}]}\n\n',
        "text/event-stream",
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_piece_of_the_canary_is_a_leak_wherever_it_stands(place: str) -> None:
    secret = Secret.fresh()
    piece = secret.groups[3]
    status, body, kind = PLACES[place]
    body = body.replace("PIECE", piece).replace('"PI"', f'"{piece[:2]}"').replace('"ECE"', f'"{piece[2:]}"')
    with answering(*ORDINARY, http(status, body, kind)) as url:
        result = probe(Endpoint(url, timeout=5), Plan(pool=1000, fresh=lambda: secret))

    assert (result.decides.judgement.verdict, result.decides.judgement.found) == ("leak", (piece,))


@pytest.mark.parametrize("answers", [[http(404, "")], [SHORT, LONGER, http(400, '{"error": "no"}')]])
def test_an_ordinary_prompt_that_is_refused_is_an_error(
    answers: list[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(*answers) as url:
        code = main(["replay", "--http", url, "--pool", "1000", "--timeout", "5"])

    assert (code, capsys.readouterr().err.split()[1]) == (2, "KV059")


@pytest.mark.parametrize("answers", [[SHORT, LONGER, http(503, "")], [SHORT, LONGER, SILENCE]])
def test_a_canary_that_fails_leaves_the_question_open(answers: list[bytes]) -> None:
    with answering(*answers) as url:
        result = probe(Endpoint(url, timeout=0.5), Plan(pool=1000))

    assert result.exit_code == 3
    assert result.decides.long is None


# ------------------------------------------------------------------------------------- command line


def test_the_command_a_user_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kvproto.reference.server", "--set", "reject_at_admission=on", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            code = main(["replay", "--http", url, "--pool", str(POOL), "--json", str(tmp_path / "probe.json")])
        finally:
            server.terminate()

    assert code == 0
    written = json.loads((tmp_path / "probe.json").read_text())
    assert (written["schema"], written["verdict"], written["exit_code"]) == ("kvproto.probe/1", "refused", 0)


def test_the_server_names_a_switch_that_it_does_not_have() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kvproto.reference.server", "--set", "reject_at_admision=on"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "did you mean 'reject_at_admission'?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--http", "http://127.0.0.1:9"], "KV060"),
        (["--http", "http://127.0.0.1:9", "--pool", "10", "--prompt-tokens", "10"], "KV060"),
        (["--http", "ftp://127.0.0.1", "--pool", "10"], "KV058"),
        (["--http", "http://me:secret@127.0.0.1:9", "--pool", "10"], "KV058"),
        (["--http", "http://127.0.0.1:99999999", "--pool", "10"], "KV058"),
        (["--http", "http://127.0.0.1:9", "--pool", "10", "--set", "a=on"], "KV026"),
        (["trace.json", "--http", "http://127.0.0.1:9", "--pool", "10"], "KV026"),
        (["trace.json", "--pool", "10"], "KV026"),
        ([], "KV022"),
    ],
)
def test_what_is_refused(arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", *arguments]) == 2

    said = capsys.readouterr()
    assert said.err.startswith(f"error {code}  ")
    assert "secret" not in said.err and said.out == ""


def test_a_server_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    assert main(["replay", "--http", f"http://127.0.0.1:{port}", "--pool", "10"]) == 2
    assert capsys.readouterr().err.startswith("error KV058  ")


def test_the_key_goes_to_the_server_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KVPROTO_API_KEY", "open-sesame")
    with answering(*ORDINARY, http(400, '{"error": "no"}')) as url:
        code = main(["replay", "--http", url, "--pool", "1000"])

    assert code == 0
    assert "open-sesame" not in "".join(capsys.readouterr())
    assert "open-sesame" not in repr(Endpoint("http://x", key="open-sesame"))
