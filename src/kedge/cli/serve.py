"""`kedge serve`: the pages and the HTTP API over one or many clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.connection import BootstrapOption, CommandConfigOption
from kedge.cli.option_group import with_option_group
from kedge.cli.options import echo, say
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.web.settings import ServerSettings

CLUSTER = "default"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve_command)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of a server, as typed; what is not typed is as in the file."""

    config: Annotated[
        Path | None, typer.Option("--config", help="Settings of the server: a TOML file")
    ] = None
    bootstrap_server: BootstrapOption = ""
    command_config: CommandConfigOption = None
    cluster: Annotated[
        str, typer.Option("--cluster", help="The name of the cluster of --bootstrap-server")
    ] = CLUSTER
    state: Annotated[
        str | None,
        typer.Option("--state", help="Where its runs are kept: cluster, or a directory"),
    ] = None
    host: Annotated[
        str | None, typer.Option("--host", help="The address to listen on; this machine alone")
    ] = None
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="8080; 0 takes a free one")
    ] = None
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            envvar="KEDGE_DATABASE",  # where a password is: arguments are seen by every process
            help="sqlite:///file.db, or postgresql://user@host/name",
        ),
    ] = None
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show clusters, make plans, change nothing")
    ] = False

    def settings(self) -> ServerSettings:
        """The settings of the file, with the options in their place."""
        from kedge.web.settings import (
            ClusterSettings,
            ServerSettings,
            check_cluster_name,
            read_settings,
        )
        from kedge.wiring import IN_CLUSTER

        base = ServerSettings({}) if self.config is None else read_settings(self.config)
        clusters = dict(base.clusters)
        if self.bootstrap_server:
            check_cluster_name(self.cluster)
            state = IN_CLUSTER if self.state is None else self.state
            clusters[self.cluster] = ClusterSettings(
                self.cluster, self.bootstrap_server, self.command_config, state
            )
        if not clusters:
            raise InvalidRequest(
                "No cluster given",
                hint="use --bootstrap-server host:port, or --config with [clusters.NAME]",
            )
        given: dict[str, Any] = {"host": self.host, "port": self.port, "database": self.database}
        typed = {name: value for name, value in given.items() if value is not None}
        return replace(base, clusters=clusters, read_only=base.read_only or self.read_only, **typed)


@with_option_group(ServeOptions)
def serve_command(
    options: ServeOptions,
    new_admin_token: Annotated[
        bool, typer.Option("--new-admin-token", help="Print a new token of an administrator")
    ] = False,
) -> None:
    """Serve the pages and the HTTP API over one or many clusters

    The first start prints the token of an administrator, once. The server listens on this machine
    alone unless --host says otherwise.

    Example: kedge serve --bootstrap-server localhost:9092 --port 8080
    """
    settings = options.settings()
    try:
        from kedge.web.server import Server, administrator_token, open_services
    except ModuleNotFoundError as error:
        raise InvalidRequest(
            f"kedge serve needs {error.name}", hint="pip install 'kedge[web]'"
        ) from error
    from kedge.web.logs import configure_logs

    configure_logs()
    services = open_services(settings)
    token = administrator_token(services, again=new_admin_token)
    if token is not None:
        echo(f"token of an administrator (shown once): {token.secret}")
    if not settings.is_loopback and not settings.secure:
        say("kedge: warning: other machines reach this server without TLS; set tls_certificate")
    Server(services, ready=lambda url: _announce(url, settings)).run()


def _announce(url: str, settings: ServerSettings) -> None:
    import sys

    names = ", ".join(sorted(settings.clusters))
    echo(f"serving {names} on {url}{' (read-only)' if settings.read_only else ''}")
    sys.stdout.flush()
