"""The controllers of a lab, and requests to whichever of them is active."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kedge.kraft import ControllerConfig
from kedge.lab.kraft.lab_controller import (
    LISTENER,
    LabController,
    controller_node,
    is_elsewhere,
)
from kedge.lab.settings import LabSettings
from kedge.metadata import ApiError, Image, Periods, Settings
from kedge.metadata.records import Endpoint
from kedge.metadata_log import (
    FormatRequest,
    MetaProperties,
    format_directory,
    read_bootstrap,
    read_meta_properties,
)
from kedge.metadata_log.meta_properties import FILE
from kedge.model.error_codes import ErrorCode
from kedge.quorum.messages import DescribeQuorumRequest
from kedge.quorum.values import QuorumConfig, ReplicaKey, Voter, VoterEndpoint, VoterSet
from kedge.sim.clock import Clock
from kedge.sim.network import Network, Reply
from kedge.sim.rng import SeededRng
from kedge.topics import encode_id

FIRST_CONTROLLER = 3_001
RETRY_MS = 100
GIVE_UP_MS = 30_000
LINGER_MS = 1  # of lab time: appends of one instant share a batch


class LabQuorum:
    """One or three controllers on the lab's clock and network."""

    def __init__(
        self,
        lab: LabSettings,
        path: Path,
        cluster_id: str,
        clock: Clock,
        network: Network,
        *,
        epoch_ms: int,
        properties: Mapping[str, str],
    ) -> None:
        self.clock = clock
        self.network = network
        self.properties = properties
        self.on_image: Callable[[Image, int], None] = lambda image, end: None
        self.on_role: Callable[[], None] = lambda: None
        self.image_end = 0
        self._lab = lab
        self._cluster_id = cluster_id
        self._epoch_ms = epoch_ms
        self._rng = SeededRng(lab.seed, "controllers")
        ids = range(FIRST_CONTROLLER, FIRST_CONTROLLER + lab.controllers)
        self.voters = VoterSet(Voter(ReplicaKey(id_), (_endpoint(id_),)) for id_ in ids)
        self._paths = {id_: path / f"controller-{id_}" for id_ in ids}
        self.controllers = {id_: LabController(self, id_, self._paths[id_]) for id_ in ids}

    # ---- what controllers need -------------------------------------------------------------------

    def draw(self, bound: int) -> int:
        """A random number of the lab's seed."""
        return self._rng.draw(bound)

    def new_id(self) -> str:
        """A random id; not from the seed, since ids must differ between labs and starts."""
        while True:
            text = encode_id(secrets.token_bytes(16))
            if not text.startswith(("-", "A" * 20)):
                return text

    def wall_ms(self) -> int:
        """The time that records are stamped with."""
        return self._epoch_ms + self.clock.now_ms

    def config_of(self, node: int) -> ControllerConfig:
        """The settings of a controller, whose directory is formatted before its first start."""
        path = self._paths[node]
        if not (path / FILE).exists():
            format_directory(
                path, FormatRequest(MetaProperties(self._cluster_id, node, self.new_id()))
            )
        meta, lab, ids = read_meta_properties(path), self._lab, tuple(self.controllers)
        others = tuple(id_ for id_ in ids if id_ != node)
        at = _endpoint(node)
        return ControllerConfig(
            QuorumConfig(
                node,
                meta.directory_id,
                meta.cluster_id,
                (at,),
                LISTENER,
                others or ids,
                append_linger_ms=LINGER_MS,
            ),
            Settings(
                node,
                meta.cluster_id,
                ids,
                default_replication_factor=lab.replication_factor,
                default_partitions=lab.partitions,
                session_ms=lab.session_timeout_ms,
                static=self.properties,
                bootstrap=read_bootstrap(path),
            ),
            # records without content would fill the log of a lab whose days take seconds
            Periods(no_op_ms=None, session_ms=lab.session_timeout_ms),
            incarnation=self.new_id(),
            listeners=(Endpoint(at.listener, at.host, at.port),),
        )

    def on_applied(self, controller: LabController) -> None:
        """Show the newest committed image, whichever controller has it first."""
        end = controller.applied.offset
        if end > self.image_end:
            self.image_end = end
            self.on_image(controller.stable, end)

    # ---- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all controllers."""
        for controller in self.controllers.values():
            controller.start()

    def stop(self) -> None:
        """End all controllers at once; their directories have everything."""
        for controller in self.controllers.values():
            controller.crash()

    @property
    def active(self) -> LabController | None:
        """The active controller."""
        found = [c for c in self.controllers.values() if c.is_active]
        return max(found, key=lambda c: c.node.role.epoch, default=None)

    @property
    def served(self) -> LabController | None:
        """The controller whose image requests are read from: the active one, else any that runs."""
        return self.active or next((c for c in self.controllers.values() if c.is_up), None)

    def storage_fault(self) -> str:
        """Why a controller cannot write; empty if all can."""
        return next((c.fault for c in self.controllers.values() if c.fault), "")

    # ---- requests --------------------------------------------------------------------------------

    def ask(
        self, source: str, request: Any, answered: Reply, *, attempts_ms: int = GIVE_UP_MS
    ) -> None:
        """Ask the active controller for a node of the network, and again while there is none."""

        def again() -> None:
            if attempts_ms <= 0:
                answered(ApiError(ErrorCode.REQUEST_TIMED_OUT, "there is no active controller"))
                return
            self.clock.after(
                RETRY_MS,
                lambda: self.ask(source, request, answered, attempts_ms=attempts_ms - RETRY_MS),
            )

        def take(answer: Any) -> None:
            if is_elsewhere(answer):
                again()
            else:
                answered(answer)

        target = self._reachable(source)
        if target is None:
            again()
            return
        serve = target.serve if isinstance(request, DescribeQuorumRequest) else target.ask
        self.network.call(
            source,
            controller_node(target.id),
            lambda reply: serve(request, reply),
            take,
            again,
            timeout_ms=max(attempts_ms, RETRY_MS),
        )

    def reaches(self, source: str) -> bool:
        """Whether a node reaches a controller that runs."""
        return any(
            c.is_up and self.network.reaches(source, controller_node(c.id))
            for c in self.controllers.values()
        )

    def _reachable(self, source: str) -> LabController | None:
        """The active controller, if the node can reach it."""
        found = self.active
        reaches = found is not None and self.network.reaches(source, controller_node(found.id))
        return found if reaches else None


def _endpoint(node: int) -> VoterEndpoint:
    """Controllers of a lab are reached through its brokers; the port is only shown."""
    return VoterEndpoint(LISTENER, "127.0.0.1", 9_093 + node - FIRST_CONTROLLER)
