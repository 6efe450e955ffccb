"""One step of an exploration: the code takes it, the model takes it beside, and what differs is noted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass

from kvproto.diagnostics import KvError
from kvproto.engine.evaluate import State
from kvproto.exploring.beside import ENVIRONMENT, TICKS, Beside
from kvproto.exploring.findings import AT_REST, Findings, Gap, Surplus, Violation, Way
from kvproto.exploring.target import Did, Happening, Look, Path, Target


@dataclass(frozen=True, slots=True)
class Node:
    """A place that was reached: the path, what the code shows, and the model's state (None once they have parted)."""

    path: Path
    look: Look
    model: State | None

    @property
    def key(self) -> bytes:
        """What tells it from other places: all that can be observed, and the model's state."""
        text = json.dumps(self.look.state, sort_keys=True) + repr(self.model)
        return hashlib.blake2b(text.encode(), digest_size=16).digest()


class Course:
    """Takes steps and notes what is found.  `claims` are those asked for; `ticks` lets clocks run out."""

    def __init__(
        self, target: Target, beside: Beside, findings: Findings, *, claims: Collection[str], ticks: bool
    ) -> None:
        self.target = target
        self.beside = beside
        self.findings = findings
        self.claims = frozenset(claims)
        self.ticks = ticks
        self.steps = 0
        self.places: set[bytes] = set()

    def begin(self, way: Way, first: Path = ()) -> Node:
        """The place after the first steps of both, which have been taken before without a difference."""
        did = self.target.begin(first)
        if did.refused:
            raise KvError(
                "KV057",
                f"{self.target.name} does not go along the trace to where the exploration is to begin",
                reason=f"one of its first {len(first)} steps is refused: {did.refused}",
                cure="begin earlier:  --keep N",
            )
        model: State | None = self.beside.start()
        for step in first:
            model = None if model is None else self.beside.after(model, step)
        place = self._compared(Node(first, did.look, model), way)
        # What is broken already where it begins is found, too.
        self._judge(frozenset(), place, way)
        return place

    def offered(self, node: Node, way: Way) -> list[Happening]:
        """Steps to take from here.  Also notes what the model would allow, and pages that are never given back.

        The target must be at the node.
        """
        possible = self.target.possible()
        self._at_rest(node, possible, way)
        if node.model is not None:
            self._surplus(node, possible)
        return [step for step in possible if self._wanted(node, step)]

    def _wanted(self, node: Node, step: Happening) -> bool:
        if step.action not in ENVIRONMENT:
            return True
        if step.action in TICKS and not self.ticks:
            return False
        if node.model is None:
            return step.action == "submit"
        return self.beside.after(node.model, step) is not None

    def _at_rest(self, node: Node, possible: list[Happening], way: Way) -> None:
        """A clock that can run out is something that can happen."""
        if AT_REST not in self.claims or any(s.action not in ENVIRONMENT or s.action in TICKS for s in possible):
            return
        held = [p for p, owner in node.look.state.items() if owner is not None and p.startswith(("d_owner", "p_owner"))]
        if held:
            self.findings.violation(Violation(AT_REST, node.path, way, expected=node.model is not None))

    def _surplus(self, node: Node, possible: list[Happening]) -> None:
        assert node.model is not None
        there = set(possible)
        for step in self.beside.possible(node.model):
            if step in there or step.action not in self.target.driven:
                continue
            known = self.findings.surplus.get(step.action)
            if known is not None:
                known.times += 1
            else:
                # Asked again for the reason; a refused step changes nothing.
                reason = self.target.perform(step).refused
                self.findings.surplus[step.action] = Surplus(step, node.path, reason)

    def take(self, node: Node, step: Happening, way: Way) -> Node | None:
        """The place after a step; None if the code raised.  The target must be at the node."""
        self.steps += 1
        path = (*node.path, step)
        did = self.target.perform(step)
        if did.raised:
            self.findings.gap(Gap("raised", f"{step.action}: {did.raised}", did.raised, path, way))
            return None
        model = node.model
        if model is not None:
            after = self.beside.after(model, step)
            if after is None:
                detail = self.beside.refuses(model, step)
                self.findings.gap(Gap("step", step.action, detail, path, way))
            model = after
        reached = self._compared(Node(path, did.look, model), way)
        self._judge(node.look.broken, reached, way)
        return reached

    def _compared(self, node: Node, way: Way) -> Node:
        """The node, without the model where the two differ."""
        if node.model is None:
            return node
        differ = self.beside.differences(node.model, node.look.state)
        if not differ:
            return node
        first, last = differ[0], str(node.path[-1]) if node.path else "the beginning"
        more = f" (and {len(differ) - 1} more)" if len(differ) > 1 else ""
        detail = (
            f"after {last}: {first.path} is {_said(first.model)} in the model, {_said(first.code)} in the code{more}"
        )
        action = node.path[-1].action if node.path else ""
        variable = first.path.rpartition(".")[2].partition("[")[0]
        self.findings.gap(Gap("state", f"{action}: {variable}", detail, node.path, way))
        return Node(node.path, node.look, None)

    def _judge(self, before: Collection[str], node: Node, way: Way) -> None:
        for claim in (node.look.broken - set(before)) & self.claims:
            expected = node.model is not None and claim in self.beside.broken(node.model)
            self.findings.violation(Violation(claim, node.path, way, expected))

    def at(self, path: Path) -> Did:
        """Bring the code to the end of a path."""
        return self.target.begin(path)


def _said(value: object) -> str:
    return json.dumps(value) if not isinstance(value, str) else value
