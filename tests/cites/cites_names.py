"""Names in Python source, and whether a citation is one of them."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from kvproto.lang.cites import Cite

if TYPE_CHECKING:
    from cites_wheels import Wheel

SERVING = ("srt/disaggregation/", "srt/managers/", "srt/mem_cache/")

OPTION_FILES = "srt/arg_groups/"
"""Where releases after 0.5.19 declare most options of `srt/server_args.py`."""


def names(tree: ast.AST) -> dict[str, ast.AST]:
    """Qualified names of functions, classes and constants with the node that defines them; the last definition wins."""
    return dict(_names(tree, "", False))


def _names(scope: ast.AST, prefix: str, local: bool) -> Iterator[tuple[str, ast.AST]]:
    """`local` inside of functions, whose variables are no constants."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name, node
            yield from _names(node, f"{prefix}{node.name}.", not isinstance(node, ast.ClassDef))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not local:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((prefix + target.id, node) for target in targets if isinstance(target, ast.Name))
        elif not isinstance(node, ast.expr):
            yield from _names(node, prefix, local)


def matching(known: dict[str, ast.AST], name: str) -> list[str]:
    """The qualified names that `name` stands for: itself, or those that end in it."""
    return [name] if name in known else [full for full in known if full.endswith(f".{name}")]


def alike(known: dict[str, ast.AST], name: str) -> list[str]:
    """Qualified names whose last part looks like that of `name`, most alike first."""
    last = name.rpartition(".")[2]
    ends: dict[str, list[str]] = {}
    for full in known:
        ends.setdefault(full.rpartition(".")[2], []).append(full)
    near = difflib.get_close_matches(last, ends, n=3, cutoff=0.5)
    parts = [end for end in ends if len(last) > 4 and last.strip("_") in end and end not in near]
    return [full for end in [*near, *parts[:2]] for full in ends[end]][:5]


@lru_cache(maxsize=256)
def names_in(wheel: Wheel, path: str) -> dict[str, ast.AST]:
    """The names in a file of a wheel."""
    return names(wheel.tree(path))


@lru_cache(maxsize=8)
def words(wheel: Wheel) -> frozenset[str]:
    """Every word in the source of what serves requests."""
    files = (file for file in wheel.files if file.startswith(SERVING))
    return frozenset(word for file in files for word in re.findall(r"\w+", wheel.text(file)))


def missing(cite: Cite, wheel: Wheel) -> str:
    """What is wrong with a citation in a release; empty if its name is there."""
    if cite.kind not in ("code", "option"):
        return ""
    if cite.path not in wheel.files:
        return _said(f"file {cite.path}", difflib.get_close_matches(cite.path, wheel.files, n=3))
    if cite.kind == "option":
        return _missing_option(cite, wheel)
    known = names_in(wheel, cite.path)
    return "" if matching(known, cite.name) else _said(f"{cite.name} in {cite.path}", alike(known, cite.name))


def _said(what: str, near: list[str]) -> str:
    return f"there is no {what}; alike: {', '.join(near) or 'none'}"


def option_field(wheel: Wheel, path: str, option: str) -> ast.AST | None:
    """The declaration of an option: a field of a class in `path`, or in the folder where later releases keep them."""
    name = option.removeprefix("--").replace("-", "_")
    for file in _option_files(wheel, path):
        if name in wheel.text(file):
            found = matching(known := names_in(wheel, file), name)
            if found and isinstance(known[found[0]], ast.AnnAssign):
                return known[found[0]]
    return None


def _option_files(wheel: Wheel, path: str) -> list[str]:
    return [path, *sorted(file for file in wheel.files if file.startswith(OPTION_FILES))]


def _missing_option(cite: Cite, wheel: Wheel) -> str:
    if option_field(wheel, cite.path, cite.name) is not None or f'"{cite.name}"' in wheel.text(cite.path):
        return ""
    files = _option_files(wheel, cite.path)
    known = {name for file in files for name, node in names_in(wheel, file).items() if isinstance(node, ast.AnnAssign)}
    options = {f"--{name.rpartition('.')[2].replace('_', '-')}" for name in known}
    return _said(f"option {cite.name}", difflib.get_close_matches(cite.name, options, n=3))
