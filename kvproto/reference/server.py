"""The reference cluster behind an OpenAI-compatible address on loopback: `python -m kvproto.reference.server`.

Prompts are the clients' own texts, a token is a character, and the answer is what decode's attention read, so text of
another request in an answer was read from a page that this request never wrote.  Pages keep their bytes between
requests, as in the engine.  One request runs at a time.  By default the engine is the one of the incident, behind a
router that passes on a refusal and stops the other leg; `--set` changes switches and sizes.

It is there to try a probe on (`kvproto replay --http`), and listens on loopback only.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kvproto.diagnostics import KvError, did_you_mean
from kvproto.reference.prompts import LABELS, PAGE_SIZE, page_count
from kvproto.reference.refusal import Refused
from kvproto.reference.sglang import Answer, Cluster, Sizes, Switches
from kvproto.reference.sglang.router import Call

HOST = "127.0.0.1"
MODEL = "kvproto-reference"

SIZES = Sizes(
    requests=len(LABELS),
    context=64,
    prefill_pages=64,
    prefill_pool=24,
    decode_pages=64,
    prefill_rows=len(LABELS),
    decode_rows=len(LABELS),
)
"""A context of 64 pages (1,024 tokens) and a prefill pool of 24 (384 tokens), in the proportions of the incident."""

SWITCHES = Switches(timeouts=True, gateway=True)
"""The engine of the incident, a decode side that loses patience, and a router that minds errors of the prefill leg."""

MOST_PAGES = 200
"""The longest context: a key has eight bits for the number of its page."""

MOST_BYTES = 64 << 20
MOST_PATIENCE = 3600.0

STEPS: tuple[Callable[[Cluster, int], object], ...] = (
    lambda c, r: c.prefill.admit(r),
    lambda c, r: c.decode.enter(r),
    lambda c, r: c.prefill.handle_abort(r),
    lambda c, r: c.decode.handle_abort(r),
    lambda c, r: c.decode.prealloc(r),
    lambda c, r: c.prefill.ranks[0].thread.receive_metadata(0, r),
    lambda c, r: c.prefill.ranks[0].thread.receive_abort(0, r),
    lambda c, r: c.prefill.ranks[0].thread.register(r),
    lambda c, r: c.prefill.ranks[0].thread.acknowledge(r),
    lambda c, r: c.prefill.finalize(r),
    lambda c, r: c.prefill.forward_chunk(r),
    lambda c, r: c.prefill.launch_chunk(r),
    lambda c, r: c.prefill.compute_chunk(r),
    lambda c, r: c.prefill.forward(r),
    lambda c, r: c.prefill.process_result(r),
    lambda c, r: c.prefill.ranks[0].worker.dequeue(r),
    lambda c, r: c.prefill.ranks[0].worker.check(r),
    lambda c, r: c.prefill.ranks[0].worker.begin(r),
    lambda c, r: _land(c, r),
    lambda c, r: c.prefill.ranks[0].worker.next_batch(r),
    lambda c, r: c.prefill.ranks[0].worker.call_succeeds(r),
    lambda c, r: c.prefill.ranks[0].worker.conclude(r),
    lambda c, r: c.decode.ranks[0].receive_success(0, r),
    lambda c, r: c.decode.ranks[0].receive_failure(0, r),
    lambda c, r: c.decode.ranks[0].receive_ack(0, r),
    lambda c, r: c.decode.commit(r),
    # Before `attend`, which could happen again and again: one look at all pages is the whole answer.
    lambda c, r: c.decode.finish(r),
    lambda c, r: c.decode.attend(r),
    lambda c, r: c.decode.prealloc_failure(r),
    lambda c, r: c.decode.transfer_failure(r),
    lambda c, r: c.decode.release_drained(0, r),
    lambda c, r: c.prefill.inflight_success(r),
    lambda c, r: c.prefill.inflight_failure(r),
    lambda c, r: c.prefill.bootstrap_failure(r),
)
"""What can happen by itself, in the order in which it is tried; nothing goes wrong here."""

PATIENCE: tuple[Callable[[Cluster, int], object], ...] = (
    lambda c, r: c.decode.waiting_timeout(0, r),
    lambda c, r: c.prefill.bootstrap_timeout(r),
)
"""What happens to a request for which nothing else does."""


def _land(cluster: Cluster, room: int) -> None:
    writes = cluster.engine.awaited(0, room)
    if not writes:
        raise Refused("transport: nothing is on its way")
    for write in writes:
        cluster.engine.land(*write.place)


class Serving:
    """Requests of any text, one at a time, on one cluster whose pages keep what earlier ones left."""

    def __init__(self, sizes: Sizes = SIZES, switches: Switches = SWITCHES, *, patience: float = 1.0) -> None:
        self._cluster = Cluster(sizes, switches)
        self._sizes = sizes
        self._patience = patience
        self._lock = threading.Lock()

    @property
    def context(self) -> int:
        """Tokens that a prompt may have, as announced."""
        return self._sizes.context * PAGE_SIZE

    def complete(self, prompt: str) -> Answer:
        """The answer to a prompt."""
        text = "".join(char if ord(char) < 0xD800 else "?" for char in prompt)
        if not text:
            return Answer(400, 0, "the prompt is empty")
        if page_count(len(text)) > self._sizes.context:
            return Answer(400, len(text), f"the prompt has {len(text)} tokens, the context length is {self.context}")
        with self._lock:
            return self._run(text)

    def _run(self, text: str) -> Answer:
        cluster = self._cluster
        room = next((room for room in cluster.rooms if room not in cluster.router.calls), None)
        if room is None:
            return Answer(503, len(text), "no room is free: earlier requests have not come to their end")
        call = cluster.router.calls[room] = Call(text)
        cluster.prefill.take(room, text)
        cluster.decode.take(room, len(text))
        self._advance(STEPS, room)
        if call.answer is None:
            time.sleep(self._patience)
            self._advance((*STEPS, *PATIENCE), room)
        if room in cluster.forgotten:
            cluster.forgotten.discard(room)
            del cluster.router.calls[room]
        return call.answer or Answer(504, len(text), "neither side has ended the request")

    def _advance(self, steps: tuple[Callable[[Cluster, int], object], ...], room: int) -> None:
        """Do what can be done for a room, until nothing can."""
        while any(self._happens(step, room) for step in steps):
            self._cluster.collect()

    def _happens(self, step: Callable[[Cluster, int], object], room: int) -> bool:
        try:
            step(self._cluster, room)
        except Refused:
            return False
        return True


class _Handler(BaseHTTPRequestHandler):
    """`GET /v1/models`, `POST /v1/completions`, `POST /v1/chat/completions`."""

    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Prompts and paths are the clients'."""

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
        else:
            self._error(404, f"there is nothing at {self.path[:80]}")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True
            self._error(413, f"the body needs a length of at most {MOST_BYTES} bytes")
            return
        body = self.rfile.read(int(length))
        chat = {"/v1/completions": False, "/v1/chat/completions": True}.get(self.path)
        if chat is None:
            self._error(404, f"there is nothing at {self.path[:80]}")
            return
        try:
            asked = json.loads(body)
            prompt = "\n".join(message["content"] for message in asked["messages"]) if chat else asked["prompt"]
            if not isinstance(prompt, str):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError):
            self._error(400, "the body is no JSON object with a text as " + ("messages" if chat else "prompt"))
            return
        self._answer(asked, self.server.serving.complete(prompt), chat=chat)

    def _answer(self, asked: Mapping[str, Any], answer: Answer, *, chat: bool) -> None:
        stream = asked.get("stream") is True
        if answer.status != 200:
            if stream and self.server.late_errors:
                self._stream([{"error": _error(answer.status, answer.text)}])
            else:
                self._error(answer.status, answer.text)
            return
        most = asked.get("max_tokens")
        most = most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else len(answer.text)
        text = answer.text[:most]
        usage = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": len(text)}
        usage["total_tokens"] = answer.prompt_tokens + len(text)
        reason = "stop" if len(text) == len(answer.text) else "length"
        if not stream:
            part = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
            self._send(200, _chunk(part, reason, chat=chat, ending="") | {"usage": usage})
            return
        parts = [text[at : at + PAGE_SIZE] for at in range(0, len(text), PAGE_SIZE)]
        chunks = [_chunk(_delta(part, chat=chat), None, chat=chat) for part in parts]
        chunks.append(_chunk(_delta("", chat=chat), reason, chat=chat) | {"usage": usage})
        self._stream(chunks)

    def _stream(self, chunks: list[dict[str, Any]]) -> None:
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            data = line.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _error(self, status: int, message: str) -> None:
        self._send(status, {"error": _error(status, message)})

    def _send(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _delta(text: str, *, chat: bool) -> dict[str, Any]:
    return {"delta": {"content": text}} if chat else {"text": text}


def _chunk(part: dict[str, Any], reason: str | None, *, chat: bool, ending: str = ".chunk") -> dict[str, Any]:
    kind = f"chat.completion{ending}" if chat else "text_completion"
    return {"id": "kv", "object": kind, "model": MODEL, "choices": [{"index": 0, **part, "finish_reason": reason}]}


def _error(status: int, message: str) -> dict[str, Any]:
    kind = "BadRequestError" if status < 500 else "InternalServerError"
    return {"message": message, "type": kind, "code": status}


class Server(ThreadingHTTPServer):
    """`late_errors`: an error of a streamed answer comes in the stream, after status 200."""

    daemon_threads = True

    def __init__(self, serving: Serving, *, port: int = 0, late_errors: bool = False) -> None:
        super().__init__((HOST, port), _Handler)
        self.serving = serving
        self.late_errors = late_errors

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.server_port}"


@contextmanager
def served(serving: Serving, *, port: int = 0, late_errors: bool = False) -> Iterator[Server]:
    """A server that runs beside the caller until the block ends."""
    with Server(serving, port=port, late_errors=late_errors) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def configured(sets: Mapping[str, str]) -> tuple[Sizes, Switches]:
    """Sizes and switches with some changed: `reject_at_admission=on`, `prefill_pool=32`."""
    sizes, switches = SIZES, SWITCHES
    numbers = ("context", "prefill_pages", "prefill_pool", "decode_pages")
    flags = tuple(field.name for field in fields(Switches))
    for name, value in sets.items():
        if name in flags and value in ("on", "off"):
            switches = replace(switches, **{name: value == "on"})
        elif name in numbers and value.isdecimal() and 0 < int(value) <= MOST_PAGES:
            sizes = replace(sizes, **{name: int(value)})
        else:
            known = (*numbers, *flags)
            raise KvError(
                "KV006",
                f"{name}={value} cannot be set{'' if name in known else did_you_mean(name, known)}",
                reason=f"a switch is on or off; {', '.join(numbers)} are pages, 1 to {MOST_PAGES}",
                cure="write --set reject_at_admission=on",
            )
    return sizes, switches


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted; the first line of output is the address."""
    parser = argparse.ArgumentParser(prog="python -m kvproto.reference.server", description=__doc__)
    parser.add_argument("--port", type=_port, default=0, help="0: any free one")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="sets")
    parser.add_argument("--patience", type=_patience, default=1.0, metavar="S", help="seconds until decode gives up")
    parser.add_argument("--late-errors", action="store_true", help="errors of streams come in the stream")
    asked = parser.parse_args(arguments)
    try:
        sizes, switches = configured({name: value for name, _, value in (text.partition("=") for text in asked.sets)})
    except KvError as error:
        sys.stderr.write(error.diagnostic.render())
        return 2
    serving = Serving(sizes, switches, patience=asked.patience)
    try:
        server = Server(serving, port=asked.port, late_errors=asked.late_errors)
    except OSError as problem:
        why = (problem.strerror or str(problem)).lower()
        parser.error(f"port {asked.port} cannot be had: {why}; --port 0 takes any free one")
    with server:
        print(server.url, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 130
    return 0


def _port(text: str) -> int:
    """A port, 0 for any."""
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 0 to 65535")
    return int(text)


def _patience(text: str) -> float:
    """Seconds, of which there is an end."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= MOST_PATIENCE:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 0 to {MOST_PATIENCE:.0f}")
    return value


if __name__ == "__main__":
    sys.exit(main())
