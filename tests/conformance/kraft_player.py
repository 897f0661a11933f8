"""Plays a KRaft scenario on `kedge.metadata`: one controller, a log that commits at once, a clock.

The clock moves only by `expire` and `advance`, as in Kafka's side of the vectors: contacts of the
other brokers first, then the clock, then five more looks at the tasks, ten milliseconds apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kedge.metadata import metadata_version
from kedge.metadata.activation import Activate
from kedge.metadata.decide import decide
from kedge.metadata.decision import Decision, Settings, Situation
from kedge.metadata.image import EMPTY, Image
from kedge.metadata.record_json import Json
from kedge.metadata.records import Versioned
from kedge.metadata.refusal import ApiError
from kedge.metadata.replay import replay_all
from kedge.metadata.snapshot import snapshot
from kedge.metadata.soft import SoftState
from kedge.metadata.tasks import Periods, Schedule
from kedge.model.error_codes import ErrorCode
from tests.conformance.kraft_answers import (
    answer,
    canonical,
    described,
    error,
    record_json,
    snapshot_order,
)
from tests.conformance.kraft_names import Names
from tests.conformance.kraft_requests import CLUSTER, Requests

NODE = 3000
READS = {"listReassignments"}
CLOCK_AT_START_MS = 1_000
NEVER_MS = 1_000_000_000_000
LOST_THE_LEAD = error(ApiError(ErrorCode.NOT_CONTROLLER, "No controller appears to be active."))


@dataclass(frozen=True)
class Entry:
    """A record in the log."""

    offset: int
    versioned: Versioned


class Player:
    """One controller and its log."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = _settings(settings)
        self._draw = settings.get("draw", 0)
        self._periods = Periods(
            no_op_ms=settings.get("idle_ms"),
            session_ms=self._settings.session_ms,
            preferred_ms=settings.get("preferred_ms"),
            unclean_ms=settings.get("unclean_ms", NEVER_MS),
        )
        self.names = Names()
        self.now_ms: float = CLOCK_AT_START_MS
        self.image: Image = EMPTY
        self._soft = SoftState()
        self._schedule = Schedule.begun(self._periods, self.now_ms)
        self.log: list[Entry] = []
        self.end = 0
        self._held_from: tuple[int, Image] | None = None
        self._new: list[Json] = []
        self._open: list[Json] = []

    # ---- steps -----------------------------------------------------------------------------------

    def activate(self) -> Json:
        """The first step of every scenario."""
        self._claim()
        return self._step({"op": "activate"}, None)

    def step(self, request: Mapping[str, Any]) -> Json:
        """Play one request: its answer, its records, and the end of the log after it."""
        match request["op"]:
            case "expire":
                self._pass(self._settings.session_ms + 1, silent=request["broker"])
                found: Any = None
            case "advance":
                self._pass(request["ms"], contact=request.get("contact", True))
                found = None
            case "hold":
                self._held_from = (self.end, self.image)
                found = None
            case "failover":
                found = {"lost": self._fail_over()}
            case "describe":
                found = self._describe(request["partitions"])
            case _:
                found = self._ask(request)
        return self._step(request, found)

    def snapshot(self) -> list[Json]:
        """The image as records, in the order of the vectors."""
        shown = [self.names.symbolic(record_json(record)) for record in snapshot(self.image)]
        return snapshot_order(shown)

    def _step(self, request: Mapping[str, Any], found: Any) -> Json:
        records, self._new = canonical(self._new), []
        step = {
            "request": request,
            "response": self.names.symbolic(found),
            "records": records,
            "end": self.end,
        }
        if found is _WAITS:
            self._open.append(step)
            step["response"] = "pending"
        return step

    # ---- requests --------------------------------------------------------------------------------

    def _situation(self) -> Situation:
        return Situation(
            self._settings,
            self.image,
            self._soft,
            now_ms=int(self.now_ms),
            next_offset=self.end,
            draw=lambda bound: self._draw % bound,
            new_id=self.names.new_id,
            resolves=lambda host: host == "localhost",
            refuses_kraft_version=lambda _: "not in this oracle",
        )

    def _ask(self, shown: Mapping[str, Any]) -> Any:
        if shown["op"] in READS:
            return self._read(shown)
        made = self._decide(Requests(self.names, self.image).of(shown))
        if shown["op"] == "createTopics" and not isinstance(made.answer, ApiError):
            for topic in made.answer:
                if topic.topic_id is not None and shown.get("validate_only"):
                    self.names.name(topic.topic_id, "topic:?")
        found = answer(shown, made.answer)
        refused = isinstance(made.answer, ApiError) and shown["op"] != "updateFeatures"
        if self._held_from is not None and self.end > self._held_from[0] and not refused:
            return _WAITS
        return found

    def _read(self, shown: Mapping[str, Any]) -> Any:
        """A request that reads sees what is committed, and does not wait."""
        committed = self.image if self._held_from is None else self._held_from[1]
        request = Requests(self.names, committed).of(shown)
        return answer(shown, decide(replace(self._situation(), image=committed), request).answer)

    def _decide(self, request: Any) -> Decision[Any]:
        made = decide(self._situation(), request)
        assert made.soft is not None
        self._soft = made.soft
        self._append(made.records)
        return made

    def _append(self, records: tuple[Versioned, ...]) -> None:
        self.image = replay_all(self.image, (v.record for v in records), self.end)
        for versioned in records:
            self.names.learn(versioned.record)
            self.log.append(Entry(self.end, versioned))
            self._new.append(self.names.symbolic(record_json(versioned)))
            self.end += 1

    def _describe(self, partitions: list[list[Any]]) -> Json:
        shown: Json = {}
        for name, number in partitions:
            topic = self.image.topic_named(name)
            assert topic is not None, f"the scenario looks at {name}"
            shown[f"{name}-{number}"] = described(topic.partitions[number])
        return shown

    # ---- time ------------------------------------------------------------------------------------

    def _pass(self, ms: float, *, silent: int = -1, contact: bool = True) -> None:
        then = self.now_ms + ms
        if contact:
            fresh = {
                (b.id, b.epoch): int(then)
                for b in self.image.brokers.values()
                if b.id != silent and (b.id, b.epoch) in self._soft.contacts
            }
            self._soft = replace(self._soft, contacts={**self._soft.contacts, **fresh})
        self.now_ms = then
        self._run_tasks()
        for _ in range(5):
            self.now_ms += 10
            self._run_tasks()

    def _run_tasks(self) -> None:
        while (task := self._schedule.next_due(self.now_ms)) is not None:
            more = self._decide(task).answer
            self._schedule = self._schedule.ran(task, self.now_ms, more=more)

    # ---- terms -----------------------------------------------------------------------------------

    def _claim(self) -> None:
        self.end += 1  # the leader change record
        self._decide(Activate())
        self._schedule = Schedule.begun(self._periods, self.now_ms)

    def _fail_over(self) -> int:
        lost = 0
        if self._held_from is not None:
            committed, image = self._held_from
            lost = self.end - committed
            self.log = [entry for entry in self.log if entry.offset < committed]
            self.end, self.image, self._held_from = committed, image, None
            self.names.forget_lives()
            for entry in self.log:
                self.names.learn(entry.versioned.record)
        for step in self._open:
            step["response"] = LOST_THE_LEAD
        self._open = []
        self._claim()
        return lost


_WAITS: Any = object()


def _settings(shown: Mapping[str, Any]) -> Settings:
    level = metadata_version.level_of(shown.get("metadata_version", "4.1-IV1"))
    assert level is not None
    return Settings(
        node_id=NODE,
        cluster_id=CLUSTER,
        voters=(NODE,),
        default_replication_factor=shown.get("default_replication_factor", 3),
        default_partitions=shown.get("default_partitions", 1),
        session_ms=shown.get("session_ms", 9000),
        static=shown.get("static", {}),
        bootstrap={metadata_version.FEATURE: level, **shown.get("features", {})},
    )
