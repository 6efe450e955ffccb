"""Entry point: verbs, and what every kind of failure prints and exits with."""

from __future__ import annotations

import os
import sys
import traceback

import click

from kvproto import __version__
from kvproto.cli.check import check
from kvproto.cli.explain import explain
from kvproto.cli.listing import list_models
from kvproto.cli.replay import replay
from kvproto.cli.show import show
from kvproto.diagnostics import KvError

OK, USAGE, INTERNAL, INTERRUPTED = 0, 2, 70, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kvproto")
def cli() -> None:
    """Check the KV-cache transfer protocol of disaggregated LLM serving, exhaustively.

    Exit codes: 0 holds, 1 violated, 2 usage or model error, 3 inconclusive, 70 internal error, 130 interrupted.
    """


for verb in (check, list_models, show, replay, explain):
    cli.add_command(verb)


def main(args: list[str] | None = None) -> int:
    """Run the command line and give the exit code; never raises."""
    try:
        code = cli.main(args=args, prog_name="kvproto", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except KvError as error:
        click.echo(error.diagnostic.render(), err=True, nl=False)
        return USAGE
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        click.echo(_usage(error).diagnostic.render(), err=True, nl=False)
        return USAGE
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): not an error; keep Python from complaining while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception:
        traceback.print_exc()
        click.echo("kvproto: internal error (exit 70); please report it with the text above", err=True)
        return INTERNAL


def _usage(error: click.ClickException) -> KvError:
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "kvproto"
    return KvError(
        "KV022",
        error.format_message(),
        reason="the command line is not understood",
        cure=f"{where} --help shows what there is",
    )


def run() -> None:
    """Console script."""
    sys.exit(main())
