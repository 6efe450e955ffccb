"""A reader of the TLA+ that is exported, and a search in it: slow, small, and independent of the exporter.

It knows the operators that exported modules use, parses them by their precedence and column rules, and finds the
successors of a state as TLC does, by going through conjunctions from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

Tree = tuple[Any, ...]
"""An operator and its operands."""

TOKEN = re.compile(
    r'(?P<string>"[^"]*")|(?P<number>\d+)|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<sign>/\\|\\/|==|=>|\|->|->|<=|>=|<<|>>|\.\.|\\[A-Za-z]+|\\|[-+*%=#<>~!@'(){}\[\],:.])"
)

BINARY = {
    "=>": (1, 1),
    "\\/": (3, 3),
    "/\\": (3, 3),
    **dict.fromkeys(("=", "#", "<", "<=", ">", ">=", "\\in", "\\notin", "\\subseteq"), (5, 5)),
    **dict.fromkeys(("\\cup", "\\cap", "\\"), (8, 8)),
    "..": (9, 9),
    "+": (10, 10),
    "-": (11, 11),
    "%": (11, 11),
    "*": (13, 13),
    "\\div": (13, 13),
}


class Token(NamedTuple):
    """A word with its place."""

    kind: str
    text: str
    line: int
    column: int


class Broken(Exception):
    """The text is no TLA+ of this kind, or an expression has no value."""


class Function(dict[Any, Any]):
    """A function or record; a value like any other."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


NONE = object()

# --- reading ---------------------------------------------------------------------------------------------


def tokens(text: str) -> list[Token]:
    """All words of a text without comments."""
    found = []
    for number, line in enumerate(text.splitlines()):
        at = 0
        while at < len(line):
            if line[at].isspace():
                at += 1
                continue
            match = TOKEN.match(line, at)
            if match is None:
                raise Broken(f"line {number + 1}: {line[at:]}")
            found.append(Token(str(match.lastgroup), match[0], number, at))
            at = match.end()
    return found


class Parser:
    """Reads expressions; `margins` are the columns of the bullets around the present place."""

    def __init__(self, words: list[Token]) -> None:
        self.words = words
        self.at = 0
        self.margins: list[tuple[int, int]] = []

    def peek(self) -> str:
        """The next word, empty where the present item of a list of bullets ends."""
        if self.at == len(self.words):
            return ""
        word = self.words[self.at]
        return "" if any(word.line > line and word.column <= column for line, column in self.margins) else word.text

    def take(self, wanted: str = "") -> str:
        """The next word, which is the wanted one."""
        text = self.peek()
        if not text or (wanted and text != wanted):
            place = self.words[min(self.at, len(self.words) - 1)]
            raise Broken(f"line {place.line + 1}, column {place.column + 1}: {text!r} instead of {wanted!r}")
        self.at += 1
        return text

    def expression(self, level: int = 0) -> Tree:
        """An expression whose operators bind at least as tightly."""
        left = self.operand()
        while (op := self.peek()) in BINARY and BINARY[op][0] >= level:
            self.take()
            left = (op, left, self.expression(BINARY[op][0] + 1))
            tight = BINARY.get(self.peek())
            if tight and op not in ("/\\", "\\/", "+", "-", "*", "\\cup", "\\cap") and tight[0] == BINARY[op][0]:
                raise Broken(f"{op} and {self.peek()} need parentheses")
        return left

    def operand(self) -> Tree:
        """What stands between binary operators, with what is applied to it."""
        found = self.atom()
        while (op := self.peek()) in ("[", ".", "'"):
            self.take()
            if op == "[":
                found = ("apply", found, self.expression())
                self.take("]")
            elif op == ".":
                found = ("apply", found, ("value", self.take()))
            else:
                found = ("'", found)
        return found

    def atom(self) -> Tree:
        """The beginning of an operand."""
        if self.peek() in ("/\\", "\\/"):
            return self.bullets()
        word = self.words[self.at]
        text = self.take()
        if word.kind == "number":
            return ("value", int(text))
        if word.kind == "string":
            return ("value", text[1:-1])
        match text:
            case "(":
                found = self.expression()
                self.take(")")
                return found
            case "{":
                return self.braces()
            case "[":
                return self.brackets()
            case "<<":
                return ("tuple", *self.several(">>"))
            case "~" | "-":
                return (f"{text} ", self.expression(4 if text == "~" else 12))
            case "SUBSET" | "UNION" | "DOMAIN" | "UNCHANGED":
                return (text, self.expression(8 if text != "UNCHANGED" else 4))
            case "\\A" | "\\E":
                bound = self.bound()
                self.take(":")
                return (text, bound, self.expression())
            case "CHOOSE":
                bound = self.bound()
                self.take(":")
                return (text, bound, self.expression())
            case "IF":
                test = self.expression()
                self.take("THEN")
                then = self.expression()
                self.take("ELSE")
                return ("IF", test, then, self.expression())
            case "LET":
                return self.let()
            case "@":
                return ("name", "@")
        if word.kind != "name":
            raise Broken(f"line {word.line + 1}: {text}")
        if self.peek() == "(":
            self.take()
            return ("call", text, *self.several(")"))
        return ("name", text)

    def bullets(self) -> Tree:
        """A list of bullets: one below the other."""
        first = self.words[self.at]
        items = []
        while self.at < len(self.words):
            word = self.words[self.at]
            if word.text != first.text or word.column != first.column or (not self.peek()):
                break
            self.at += 1
            self.margins.append((word.line, word.column))
            items.append(self.expression())
            if self.peek():
                raise Broken(f"line {word.line + 1}: something is left of the item: {self.peek()}")
            self.margins.pop()
        found = items[0]
        for item in items[1:]:
            found = (first.text, found, item)
        return found

    def several(self, end: str) -> list[Tree]:
        """Expressions between commas."""
        found = []
        while self.peek() != end:
            found.append(self.expression())
            if self.peek() != end:
                self.take(",")
        self.take(end)
        return found

    def bound(self) -> tuple[tuple[str, Tree], ...]:
        """`x \\in S, y \\in T`."""
        found = []
        while True:
            name = self.take()
            self.take("\\in")
            found.append((name, self.expression(6)))
            if self.peek() != ",":
                return tuple(found)
            self.take()

    def braces(self) -> Tree:
        """A set."""
        start = self.at
        if self.words[self.at].kind == "name" and self.words[self.at + 1].text == "\\in":
            bound = self.bound()
            if self.peek() == ":":
                self.take()
                found: Tree = ("filter", bound[0], self.expression())
                self.take("}")
                return found
            self.at = start
        items = []
        while self.peek() != "}":
            items.append(self.expression())
            if self.peek() == ":":
                self.take()
                found = ("map", self.bound()[0], items[0])
                self.take("}")
                return found
            if self.peek() != "}":
                self.take(",")
        self.take("}")
        return ("set", *items)

    def brackets(self) -> Tree:
        """A function, a record, one with changes, or a set of these."""
        first, second = self.words[self.at], self.words[self.at + 1].text
        if first.kind == "name" and second in ("|->", ":"):
            parts = []
            while True:
                name = self.take()
                self.take(second)
                parts.append((name, self.expression()))
                if self.peek() == "]":
                    self.take()
                    return ("record" if second == "|->" else "records", *parts)
                self.take(",")
        if first.kind == "name" and second == "\\in":
            start = self.at
            bound = self.bound()
            if self.peek() == "|->":
                self.take()
                found: Tree = ("function", bound[0], self.expression())
                self.take("]")
                return found
            self.at = start
        base = self.expression()
        if self.peek() == "->":
            self.take()
            found = ("functions", base, self.expression())
            self.take("]")
            return found
        self.take("EXCEPT")
        changes = []
        while True:
            self.take("!")
            path = []
            while (step := self.peek()) in (".", "["):
                self.take()
                path.append(("value", self.take()) if step == "." else self.expression())
                if step == "[":
                    self.take("]")
            self.take("=")
            changes.append((tuple(path), self.expression()))
            if self.peek() == "]":
                self.take()
                return ("except", base, *changes)
            self.take(",")

    def let(self) -> Tree:
        """Definitions, and what they are for."""
        made = []
        while self.peek() != "IN":
            name, bound = self.take(), None
            if self.peek() == "[":
                self.take()
                bound = self.bound()[0]
                self.take("]")
            self.take("==")
            made.append((name, bound, self.expression()))
        self.take("IN")
        return ("LET", tuple(made), self.expression())


# --- meaning ---------------------------------------------------------------------------------------------


@dataclass
class Later:
    """A value that is worked out when it is asked for."""

    tree: Tree
    env: dict[str, Any]


@dataclass
class Recursive:
    """A function that is defined by itself."""

    variable: str
    tree: Tree
    env: dict[str, Any]
    known: dict[Any, Any] = field(default_factory=dict)


class Module:
    """An exported module: definitions, variables, states."""

    def __init__(self, text: str) -> None:
        plain = re.sub(r"\(\*.*?\*\)", "", text)
        body = plain.splitlines()[1:-1]
        starts = [at for at, line in enumerate(body) if re.match(r"\w+(\([^)]*\))? ==", line)]
        heads = [at for at, line in enumerate(body) if re.match(r"VARIABLES |CONSTANT |EXTENDS ", line)]
        self.variables = tuple(re.split(r", ", next(b for b in body if b.startswith("VARIABLES "))[10:]))
        self.texts: dict[str, tuple[tuple[str, ...], str]] = {}
        for start in starts:
            end = min([at for at in [*starts, *heads, len(body)] if at > start])
            head, _, rest = body[start].partition(" ==")
            name, _, arguments = head.partition("(")
            given = tuple(a.strip() for a in arguments.rstrip(")").split(",") if a)
            if name in self.texts:
                raise Broken(f"{name} is defined twice")
            self.texts[name] = (given, "\n".join([" " * (len(head) + 3) + rest, *body[start + 1 : end]]))
        self.trees: dict[str, Tree] = {}
        self.state: dict[str, Any] = {}

    def tree(self, name: str) -> Tree:
        """What a definition says, read when it is needed."""
        if name not in self.trees:
            parser = Parser(tokens(self.texts[name][1]))
            self.trees[name] = parser.expression()
            if parser.at != len(parser.words):
                raise Broken(f"{name}: {parser.words[parser.at]} is left")
        return self.trees[name]

    def search(self, config: str) -> tuple[int, int]:
        """Distinct states within the constraint, and levels of the search; every state satisfies TypeOK.

        Raises Broken for a state that does not, and for one without a way on where deadlocks are looked for.
        """
        bounded = "CONSTRAINT Within" in config
        starts = dict.fromkeys(self.frozen(found) for found in self.ways(("name", "Init"), {}, {}, ""))
        level = [state for state in starts if not bounded or self.within(state)]
        seen, depth = set(level), 0
        while level:
            depth += 1
            following = []
            for state in level:
                self.state = dict(zip(self.variables, state, strict=True))
                if not self.value(("name", "TypeOK"), {}):
                    raise Broken(f"TypeOK is violated: {self.state}")
                ways = list(self.ways(("name", "Next"), {}, {}, "'"))
                if not ways and "CHECK_DEADLOCK TRUE" in config:
                    raise Broken(f"deadlock: {self.state}")
                for found in ways:
                    after = self.frozen(found)
                    if after not in seen and (not bounded or self.within(after)):
                        seen.add(after)
                        following.append(after)
            level = following
        return len(seen), depth

    def within(self, state: tuple[Any, ...]) -> bool:
        """Whether a state satisfies the constraint."""
        return self.truth(("name", "Within"), dict(zip(self.variables, state, strict=True)))

    def frozen(self, found: dict[str, Any]) -> tuple[Any, ...]:
        """A state."""
        return tuple(found[name] for name in self.variables)

    def ways(self, tree: Tree, env: dict[str, Any], given: dict[str, Any], prime: str) -> Iterator[dict[str, Any]]:
        """All ways to give variables (with a prime, or without for the start) values that make a formula true."""
        match tree:
            case ("/\\", left, right):
                for found in self.ways(left, env, given, prime):
                    yield from self.ways(right, env, found, prime)
            case ("\\/", left, right):
                yield from self.ways(left, env, given, prime)
                yield from self.ways(right, env, given, prime)
            case ("\\E", bound, body):
                for inner in self.each(bound, env):
                    yield from self.ways(body, inner, given, prime)
            case ("LET", made, body):
                yield from self.ways(body, self.defined(made, env), given, prime)
            case ("name", name) if name in self.texts and name not in env:
                yield from self.ways(self.tree(name), {}, given, prime)
            case ("call", name, *arguments) if name in self.texts:
                values = [self.value(a, env) for a in arguments]
                inner = dict(zip(self.texts[name][0], values, strict=True))
                yield from self.ways(self.tree(name), inner, given, prime)
            case ("=", ("'", ("name", name)), right) if prime and name not in given:
                yield {**given, name: self.value(right, env)}
            case ("=", ("name", name), right) if not prime and name in self.variables and name not in given:
                yield {**given, name: self.value(right, env)}
            case ("UNCHANGED", names):
                same = [names[1]] if names[0] == "name" else [n[1] for n in names[1:]]
                same = self.variables if same == ["vars"] else same
                yield {**given, **{n: self.state[n] for n in same}}
            case _:
                if self.truth(tree, env):
                    yield given

    def each(self, bound: tuple[tuple[str, Tree], ...], env: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The environment with every choice of the bound variables."""
        names = [name for name, _ in bound]
        for values in product(*(sorted(self.value(s, env), key=repr) for _, s in bound)):
            yield {**env, **dict(zip(names, values, strict=True))}

    def defined(self, made: tuple[Any, ...], env: dict[str, Any]) -> dict[str, Any]:
        """The environment with what a LET defines."""
        inner = dict(env)
        for name, bound, tree in made:
            if name in self.texts or name in self.variables or name in env:
                raise Broken(f"{name} stands for two things")
            inner[name] = Later(tree, inner) if bound is None else Recursive(bound[0], tree, inner)
        return inner

    def truth(self, tree: Tree, env: dict[str, Any]) -> bool:
        """The value of a condition."""
        found = self.value(tree, env)
        if not isinstance(found, bool):
            raise Broken(f"no truth value: {tree}")
        return found

    def value(self, tree: Tree, env: dict[str, Any]) -> Any:
        """The value of an expression."""
        match tree:
            case ("value", found):
                return found
            case ("name", name):
                return self.named(name, env)
            case ("/\\", left, right):
                return self.truth(left, env) and self.truth(right, env)
            case ("\\/", left, right):
                return self.truth(left, env) or self.truth(right, env)
            case ("=>", left, right):
                return not self.truth(left, env) or self.truth(right, env)
            case ("~ ", part):
                return not self.truth(part, env)
            case ("- ", part):
                return -self.value(part, env)
            case ("IF", test, then, orelse):
                return self.value(then if self.truth(test, env) else orelse, env)
            case ("LET", made, body):
                return self.value(body, self.defined(made, env))
            case ("\\A", bound, body):
                return all(self.truth(body, inner) for inner in self.each(bound, env))
            case ("\\E", bound, body):
                return any(self.truth(body, inner) for inner in self.each(bound, env))
            case ("CHOOSE", bound, body):
                return next(i[bound[0][0]] for i in self.each(bound, env) if self.truth(body, i))
            case ("apply", function, argument):
                return self.applied(self.value(function, env), self.value(argument, env))
            case ("call", name, *arguments):
                return self.called(name, [self.value(a, env) for a in arguments])
            case ("except", base, *changes):
                found = self.value(base, env)
                for path, new in changes:
                    found = self.changed(found, [self.value(p, env) for p in path], new, env)
                return found
            case _:
                return self.collection(tree, env)

    def named(self, name: str, env: dict[str, Any]) -> Any:
        """What a name stands for."""
        if name in env:
            found = env[name]
            return self.value(found.tree, found.env) if isinstance(found, Later) else found
        if name in self.state:
            return self.state[name]
        match name:
            case "TRUE" | "FALSE":
                return name == "TRUE"
            case "BOOLEAN":
                return frozenset((False, True))
            case "None":
                return NONE
            case _ if name in self.texts:
                # A definition at the top knows variables only, which may be those of another state.
                return self.value(self.tree(name), {v: env[v] for v in self.variables if v in env})
            case _:
                raise Broken(f"{name} is not defined")

    def called(self, name: str, values: list[Any]) -> Any:
        """An operator with arguments."""
        if name == "Cardinality":
            return len(values[0])
        if name == "Assert":
            if values[0] is not True:
                raise Broken(f"assertion: {values[1]}")
            return True
        return self.value(self.tree(name), dict(zip(self.texts[name][0], values, strict=True)))

    def applied(self, function: Any, argument: Any) -> Any:
        """A function's value."""
        if isinstance(function, Recursive):
            if argument not in function.known:
                inner = {**function.env, function.variable: argument}
                function.known[argument] = self.value(function.tree, inner)
            return function.known[argument]
        if isinstance(function, tuple):
            return function[argument - 1]
        if argument not in function:
            raise Broken(f"{argument} is outside of the function {function}")
        return function[argument]

    def changed(self, old: Any, path: list[Any], new: Tree, env: dict[str, Any]) -> Any:
        """A function with one change; `@` is what was there."""
        if not path:
            return self.value(new, {**env, "@": old})
        if path[0] not in old:
            raise Broken(f"EXCEPT at {path[0]}, which is outside of the function {old}")
        return Function({**old, path[0]: self.changed(old[path[0]], path[1:], new, env)})

    def collection(self, tree: Tree, env: dict[str, Any]) -> Any:
        """Sets, functions, arithmetic and comparisons."""
        match tree:
            case ("set" | "tuple" as kind, *items):
                values = [self.value(i, env) for i in items]
                return frozenset(values) if kind == "set" else tuple(values)
            case ("filter", (name, domain), body):
                return frozenset(i[name] for i in self.each(((name, domain),), env) if self.truth(body, i))
            case ("map", bound, body):
                return frozenset(self.value(body, inner) for inner in self.each((bound,), env))
            case ("function", (name, domain), body):
                return Function({i[name]: self.value(body, i) for i in self.each(((name, domain),), env)})
            case ("record", *parts):
                return Function({name: self.value(part, env) for name, part in parts})
            case ("records", *parts):
                sets = [self.value(part, env) for _, part in parts]
                return Fits(lambda v: [*v] == [n for n, _ in parts] and all(map(_member, v.values(), sets)))
            case ("functions", domain, values):
                keys, inside = self.value(domain, env), self.value(values, env)
                return Fits(lambda v: frozenset(v) == keys and all(_member(x, inside) for x in v.values()))
            case ("SUBSET", base):
                return Powers(self.value(base, env))
            case ("UNION", base):
                return frozenset(x for s in self.value(base, env) for x in s)
            case ("DOMAIN", base):
                return frozenset(self.value(base, env))
            case (op, left, right):
                return _binary(op, self.value(left, env), self.value(right, env))
        raise Broken(str(tree))


class Fits:
    """A set that is only asked whether something belongs to it."""

    def __init__(self, test: Any) -> None:
        self.test = test


class Powers:
    """All subsets of a set."""

    def __init__(self, base: frozenset[Any]) -> None:
        self.base = base

    def __contains__(self, value: Any) -> bool:
        return bool(value <= self.base)

    def __iter__(self) -> Iterator[frozenset[Any]]:
        items = sorted(self.base, key=repr)
        for row in product((False, True), repeat=len(items)):
            yield frozenset(item for item, inside in zip(items, row, strict=True) if inside)


def _member(value: Any, inside: Any) -> bool:
    return bool(inside.test(value)) if isinstance(inside, Fits) else value in inside


def _binary(op: str, left: Any, right: Any) -> Any:
    match op:
        case "=" | "#":
            if NONE not in (left, right) and type(left) is not type(right):
                raise Broken(f"{left} and {right} cannot be compared")
            return (left == right) == (op == "=")
        case "\\in" | "\\notin":
            return _member(left, right) == (op == "\\in")
        case "\\subseteq":
            return left <= right
        case "\\cup":
            return left | right
        case "\\cap":
            return left & right
        case "\\":
            return left - right
        case "..":
            return frozenset(range(left, right + 1))
    numbers = all(type(v) is int for v in (left, right))
    if not numbers:
        raise Broken(f"{op} of {left} and {right}")
    operators = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }
    if op in operators:
        return operators[op]
    if right <= 0 and op == "%":
        raise Broken("% of what is not positive")
    return left // right if op == "\\div" else left % right
