"""`kedge config show`: the settings of a server as it would use them, with secrets masked."""

from __future__ import annotations

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.option_group import with_option_group
from kedge.cli.options import Output, OutputOption
from kedge.cli.serve import ServeOptions

app = typer.Typer(name="config", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Show the settings of a server, with secrets masked"""


@app.command("show")
@with_option_group(ServeOptions)
def show_command(options: ServeOptions, output: OutputOption = Output.TABLE) -> None:
    """Show the settings that kedge serve would use, defaults included, with secrets masked

    Example: kedge config show --bootstrap-server localhost:9092
    """
    from kedge.web.server import default_database
    from kedge.web.settings_view import settings_lines, settings_row

    row = settings_row(options.settings(), default_database())
    if output is Output.JSON:
        echo_json(row)
    else:
        echo_lines(settings_lines(row))
