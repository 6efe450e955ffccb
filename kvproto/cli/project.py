"""`[tool.kvproto]` of the nearest pyproject.toml: what `kvproto check` checks without a target, and with which options.

    [tool.kvproto]
    targets = ["model.py", "sglang@patched"]
    scope = "small"

    [tool.kvproto.profile.ci]       # kvproto check --profile ci
    workers = 2
    time-limit = 60
    set = { drains = true }

Keys are long options of `kvproto check`.  The command line comes first, then the profile, then the table.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from kvproto.diagnostics import KvError, did_you_mean

TARGETS, PROFILE = "targets", "profile"

OWN = ("--profile", "--help", "--resume", "--checkpoint")
"""Options that are for one run and not for a project."""


def configured_targets(folder: Path, profile: str | None = None) -> list[str]:
    """The targets that the project of this folder names; none if it has no say.  Raises KV023."""
    path, tables = _tables(folder, profile)
    for name, table in tables:
        if TARGETS in table:
            targets = table[TARGETS]
            if not isinstance(targets, list) or not targets or not all(isinstance(t, str) for t in targets):
                _refuse(f"[{name}] in pyproject.toml: targets is no list of at least one text")
            return [_from(path.parent, target, folder) for target in targets]
    return []


def configured_options(folder: Path, profile: str | None, params: Sequence[click.Parameter]) -> dict[str, Any]:
    """Values of options by the names of their parameters, as click takes them.  Raises KV023."""
    options = {opt: p for p in params for opt in p.opts if isinstance(p, click.Option) and opt.startswith("--")}
    options = {opt: p for opt, p in options.items() if opt not in OWN}
    found: dict[str, Any] = {}
    for name, table in reversed(_tables(folder, profile)[1]):
        for key, value in table.items():
            if key in (TARGETS, PROFILE):
                continue
            option = options.get("--" + key.replace("_", "-"))
            if option is None or option.name is None:
                known = [TARGETS, PROFILE, *(opt.removeprefix("--") for opt in options)]
                _refuse(f"[{name}] in pyproject.toml: unknown key {key!r}{did_you_mean(key, known)}")
            found[option.name] = _value(name, key, value, option)
    return found


def _value(table: str, key: str, value: Any, option: click.Option) -> Any:
    """What click's own conversion takes: settings of `set` as NAME=VALUE, numbers as they are."""
    if isinstance(value, Mapping) and key == "set":
        return tuple(f"{name}={_word(setting)}" for name, setting in value.items())
    if option.multiple:
        if not isinstance(value, list):
            _refuse(f"[{table}] in pyproject.toml: {key} is no list")
        return tuple(value)
    if isinstance(value, (dict, list)) or (option.is_flag and not isinstance(value, bool)):
        wanted = "true or false" if option.is_flag else "a single value"
        _refuse(f"[{table}] in pyproject.toml: {key} is not {wanted}")
    return value


def _word(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


Tables = list[tuple[str, Mapping[str, Any]]]


def _tables(folder: Path, profile: str | None) -> tuple[Path, Tables]:
    """The file and its tables with their names, the more special first."""
    path = next((p / "pyproject.toml" for p in (folder, *folder.parents) if (p / "pyproject.toml").is_file()), None)
    if path is None:
        if profile is not None:
            _refuse(f"there is no profile {profile!r}: no pyproject.toml here or above")
        return folder / "pyproject.toml", []
    try:
        tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        _refuse(f"{path.name} cannot be read: {problem}")
    table = tool.get("kvproto", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        _refuse(f"tool.kvproto in {path.name} is no table")
    profiles = table.get(PROFILE, {})
    if not isinstance(profiles, dict) or not all(isinstance(value, dict) for value in profiles.values()):
        _refuse(f"tool.kvproto.profile in {path.name} holds no tables: write [tool.kvproto.profile.ci]")
    found: Tables = [("tool.kvproto", table)]
    if profile is not None:
        if profile not in profiles:
            _refuse(f"{path.name} has no profile {profile!r}{did_you_mean(profile, list(profiles))}")
        found.insert(0, (f"tool.kvproto.profile.{profile}", profiles[profile]))
    return path, found


class ProjectCommand(click.Command):
    """A command whose options may stand in the project's table: where it names the targets, or a profile is asked for.

    Who names targets by himself and no profile asks for something else than the project does.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Make the project's options the defaults of this command line."""
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        # What is not given is None, or a mark of click's own.
        profile = given[PROFILE] if isinstance(given.get(PROFILE), str) else None
        named = isinstance(given.get(TARGETS), tuple) and given[TARGETS]
        if profile is not None or not named:
            options = configured_options(Path.cwd(), profile, self.params)
            ctx.default_map = {**(ctx.default_map or {}), **options}
        return super().parse_args(ctx, args)


def _from(project: Path, target: str, folder: Path) -> str:
    """The target as seen from the current folder: paths and packages of a project are relative to it."""
    if project == folder:
        return target
    if ".py" in target:
        return os.path.relpath(project / target, folder)
    if str(project) not in sys.path:
        sys.path.insert(0, str(project))
    return target


def _refuse(message: str) -> NoReturn:
    raise KvError(
        "KV023",
        message,
        reason="[tool.kvproto] has `targets`, a list of what `kvproto check` takes, and long options of it by name",
        cure='write for example  targets = ["model.py", "sglang@patched"]  and  time-limit = 60',
    ) from None
