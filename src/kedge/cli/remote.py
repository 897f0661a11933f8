"""What the commands share that run through a server: the connection, and jobs with progress."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, say
from kedge.cli.server_target import chosen_server
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.web.client import ApiClient

Document = dict[str, Any]


class Remote:
    """One cluster of a server."""

    def __init__(self, api: ApiClient, cluster: str) -> None:
        self.api, self.cluster = api, cluster

    def path(self, *parts: str) -> str:
        """The path of a resource of the cluster."""
        return "/".join(("", "clusters", self.cluster, *parts))

    def run_path(self, run: str | None, *parts: str) -> str:
        """The path of a run: the latest, if none is named."""
        return self.path("runs", run or "latest", *parts)

    def follow(self, job: Document) -> Document:
        """A job of a run to its end, with progress; what it notes is written to stderr."""
        from kedge.cli.live_progress import status_line

        noted = 0
        with status_line() as show:

            def on_progress(progress: Document) -> None:
                nonlocal noted
                notes = progress.get("notes", [])
                for note in notes[noted:]:
                    say(note["text"])
                noted = len(notes)
                if "partitions" in progress:
                    show(progress_text(progress))

            try:
                return self.api.ended(job, on_progress)
            except KeyboardInterrupt:
                say(f"Run {job['run']} goes on in the server; kedge status shows it")
                raise


@contextmanager
def remote() -> Generator[Remote]:
    """The cluster that the command line names, for the time of a `with` block."""
    try:
        from kedge.web.client import ApiClient
    except ModuleNotFoundError as error:
        raise InvalidRequest(
            f"--server needs {error.name}", hint="pip install 'kedge[web]'"
        ) from error
    target = chosen_server.get()
    with ApiClient(target.url, target.token) as api:
        yield Remote(api, target.cluster or _only_cluster(api))


def _only_cluster(api: ApiClient) -> str:
    names = [row["name"] for row in api.get("/clusters")["clusters"]]
    if len(names) != 1:
        raise InvalidRequest(
            f"The server has {len(names)} clusters that this token may read",
            hint=f"name one with --cluster: {', '.join(names)}" if names else "ask for a role",
        )
    return names[0]


def progress_text(progress: Document) -> str:
    """How far a run is, as the line of a local run."""
    from kedge.execution.progress import Progress
    from kedge.report.runs import progress_line

    names = ("partitions", "done", "moving", "bytes_total", "bytes_done")
    figures = {name: int(progress[name]) for name in names}
    rate, left = progress["bytes_per_second"], progress["seconds_left"]
    return progress_line(Progress(**figures, bytes_per_second=rate, seconds_left=left))


def show_result(result: Document, output: Output) -> None:
    """The result of a change: the document without its lines, or the lines."""
    lines = result.pop("lines", [])
    if output is Output.JSON:
        echo_json(result)
    else:
        echo_lines(lines)
