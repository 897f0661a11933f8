"""The end of the demonstration with `--web`: pages on the lab, with traffic and a fault."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.cli.demo.demo_lab import Demo
    from kedge.web.settings import ServerSettings

VICTIM = 7
FAULT_AFTER_S = 20.0
SAMPLE_S = 3.0
DOWN_FOR_S = 20.0
NAME = "demo"


def offered(demo: Demo, port: int) -> None:
    """Serve the pages over the lab until Ctrl-C; a broker dies while they are watched."""
    try:
        from kedge.web.server import Server, administrator_token, open_services
    except ModuleNotFoundError as error:
        raise InvalidRequest(
            f"kedge demo --web needs {error.name}", hint="pip install 'kedge[web]'"
        ) from error
    demo.section("The pages, on this lab")
    services = open_services(settings_of(demo, port))
    token = administrator_token(services, again=True)
    assert token is not None
    dying = threading.Timer(FAULT_AFTER_S, lambda: demo.lab.inject("broker-crash", VICTIM))
    dying.daemon = True

    def ready(url: str) -> None:
        _explain(demo, url, token.secret)
        dying.start()

    with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
        Server(services, ready).run()
    dying.cancel()


def settings_of(demo: Demo, port: int) -> ServerSettings:
    """A server of the lab alone, whose loop proposes soon and starts what is approved."""
    from kedge.watch.policy import MINUTE_S, Detection, Mode, Policy
    from kedge.web.settings import ClusterSettings, ServerSettings

    # Lab time is fast: by the trend of a minute every disk is full soon, and that is not the story.
    detect = Detection(
        broker_down_for_s=DOWN_FOR_S, under_replicated_for_s=DOWN_FOR_S, disk_full_within_s=MINUTE_S
    )
    policy = Policy(mode=Mode.APPROVE, sample_every_s=SAMPLE_S, detect=detect)
    cluster = ClusterSettings(NAME, demo.lab.bootstrap_servers, sample_s=SAMPLE_S, policy=policy)
    database = f"sqlite:///{demo.directory / 'serve.db'}"
    return ServerSettings({NAME: cluster}, port=port, database=database)


def _explain(demo: Demo, url: str, token: str) -> None:
    demo.screen.print(f"  open   {url}/#/clusters/{NAME}")
    demo.screen.print(f"  token  {token}")
    demo.explain(
        f"Producers write on. In {FAULT_AFTER_S:.0f} s broker {VICTIM} dies: its tile turns red "
        "on the page of the cluster, Controller shows what follows, and within a minute "
        "Proposals has a plan that replaces its replicas. Approve it, and watch it under Runs. "
        "Ctrl-C ends the lab."
    )
