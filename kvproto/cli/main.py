"""Entry point: verbs, and what every kind of failure prints and exits with."""

from __future__ import annotations

import errno
import importlib
import sys
import traceback
from typing import Any

import click

from kvproto import __version__
from kvproto.cli.options import silence, unwritable
from kvproto.diagnostics import Diagnostic, KvError, did_you_mean

OK, USAGE, INTERNAL, INTERRUPTED = 0, 2, 70, 130

VERBS = {
    "check": ("kvproto.cli.check", "check"),
    "list": ("kvproto.cli.listing", "list_models"),
    "show": ("kvproto.cli.show", "show"),
    "view": ("kvproto.cli.view", "view"),
    "replay": ("kvproto.cli.replay", "replay"),
    "explain": ("kvproto.cli.explain", "explain"),
    "export": ("kvproto.cli.export", "export"),
    "bench": ("kvproto.cli.bench", "bench"),
    "mitigations": ("kvproto.cli.mitigations", "mitigations"),
    "prove": ("kvproto.cli.prove", "prove"),
    "suite": ("kvproto.cli.suite", "suite"),
    "engine": ("kvproto.cli.engine", "engine"),
    "explore": ("kvproto.cli.explore", "explore"),
    "new": ("kvproto.cli.new", "new"),
}
"""Where each verb is; it is imported when it is used."""


class Verbs(click.Group):
    """The verbs, none imported before it is needed: `show` does without engines, `check` without tensors."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The verb of that name."""
        if cmd_name not in VERBS:
            return None
        module, name = VERBS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that the first argument names."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            ctx.fail(f"there is no verb {args[0]!r}{did_you_mean(args[0], VERBS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb.  A model that ends the process would end it with a verdict of its own."""
        try:
            return super().invoke(ctx)
        except SystemExit as end:
            raise KvError(
                "KV007",
                f"the model ends the process (SystemExit: {end.code})",
                reason="a model is ordinary Python at module level, and this called sys.exit",
                cure="take the call out, or put it under if __name__ == '__main__'",
            ) from end


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kvproto")
def cli() -> None:
    """Check the KV-cache transfer protocol of disaggregated LLM serving, exhaustively.

    Exit codes: 0 holds, 1 violated, 2 usage or model error, 3 inconclusive, 70 internal error, 130 interrupted.
    """


def main(args: list[str] | None = None) -> int:
    """Run the command line and give the exit code; never raises."""
    try:
        return _exit_code(args)
    except KvError as error:
        return _refuse(error.diagnostic)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        return _refuse(_usage(error))
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):
            silence()
            return _refuse(unwritable("standard output", error).diagnostic)
        traceback.print_exc()
        click.echo("kvproto: internal error (exit 70); please report it with the text above", err=True)
        return INTERNAL


def _exit_code(args: list[str] | None) -> int:
    try:
        code = cli.main(args=args, prog_name="kvproto", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # The reader of a help text went away (`| head`), for which click exits: not an error.
        silence()
        return OK
    return code if isinstance(code, int) else OK


def _refuse(diagnostic: Diagnostic) -> int:
    click.echo(diagnostic.render(), err=True, nl=False)
    return USAGE


def _usage(error: click.ClickException) -> Diagnostic:
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "kvproto"
    text = error.format_message().rstrip(".")
    return Diagnostic(
        "KV022",
        text[:1].lower() + text[1:],
        reason="the command line is not understood",
        cure=f"{where} --help shows what there is",
    )


def run() -> None:
    """Console script."""
    for stream in (sys.stdout, sys.stderr):
        # A model may name things in letters that the terminal does not have.
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
