"""`server.properties` of a KRaft controller."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.errors import InvalidConfiguration, InvalidRequest
from kedge.metadata_log import MetaProperties
from kedge.quorum.values import VoterEndpoint
from kedge.service.kraft import KraftService, ServerProperties, read_properties
from kedge.service.kraft.storage import format_controller

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
GOOD = {
    "process.roles": "controller",
    "node.id": "3003",
    "listeners": "CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "3001@127.0.0.1:9091,3003@127.0.0.1:9093",
    "log.dirs": "/data/a,/data/b",
}


def test_properties_become_the_settings_of_the_core() -> None:
    found = ServerProperties.of(
        {
            **GOOD,
            "controller.quorum.fetch.timeout.ms": "700",
            "auto.leader.rebalance.enable": "false",
            "num.partitions": "7",
        }
    )
    made = found.controller(MetaProperties(CLUSTER, 3003, "d" * 22), {"metadata.version": 27}, "i")
    assert found.directory == Path("/data/a")
    assert made.quorum.bootstrap == (3001,)
    assert made.quorum.endpoints == (VoterEndpoint("CONTROLLER", "127.0.0.1", 9093),)
    assert made.quorum.fetch_timeout_ms == 700
    assert made.periods.preferred_ms is None
    assert made.settings.default_partitions == 7
    assert made.settings.voters == (3001, 3003)


def test_bootstrap_servers_have_ids_that_no_node_has() -> None:
    values = {k: v for k, v in GOOD.items() if k != "controller.quorum.voters"}
    found = ServerProperties.of({**values, "controller.quorum.bootstrap.servers": "a:1,b:2"})
    assert found.bootstrap == {-2: ("a", 1), -3: ("b", 2)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"process.roles": "broker"}, "process.roles"),
        ({"authorizer.class.name": "org.apache.kafka.StandardAuthorizer"}, "checks no rights"),
        ({"listener.security.protocol.map": "CONTROLLER:SSL"}, "there is no key"),
        ({"listener.security.protocol.map": "CONTROLLER:ODD"}, "the protocol ODD"),
        ({"node.id": "three"}, "node.id"),
        ({"listeners": "PLAINTEXT://:9092"}, "no listener CONTROLLER"),
        ({"controller.quorum.voters": "3001"}, "controller.quorum.voters"),
        ({"controller.quorum.voters": ""}, "neither"),
        ({"log.dirs": ""}, "log.dirs"),
        ({"listeners": "CONTROLLER://host"}, "not an address"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(changes: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidConfiguration, match=words):
        ServerProperties.of({**GOOD, **changes})


def written(directory: Path, **changes: str) -> ServerProperties:
    lines = {**GOOD, "log.dirs": str(directory / "data"), **changes}
    path = directory / "server.properties"
    path.write_text("# a comment\n" + "".join(f"{k} = {v}\n" for k, v in lines.items()))
    return read_properties(path)


def format_it(properties: ServerProperties, cluster_id: str = CLUSTER, **more: object) -> str:
    chosen = {"release": "4.1-IV1", "features": {}, "standalone": False, "ignore_formatted": False}
    return format_controller(properties, cluster_id, **{**chosen, **more})  # type: ignore[arg-type]


def test_a_directory_is_formatted_once(tmp_path: Path) -> None:
    properties = written(tmp_path)
    assert format_it(properties).startswith("formatted")
    with pytest.raises(InvalidRequest, match="already formatted"):
        format_it(properties)
    assert "left as it is" in format_it(properties, ignore_formatted=True)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"cluster_id": "short"}, "not a cluster id"),
        ({"release": "9.9"}, "metadata.version"),
        ({"features": {"group.version": 9}}, "group.version has no level 9"),
    ],
)
def test_a_wrong_format_changes_nothing(
    tmp_path: Path, more: dict[str, object], words: str
) -> None:
    properties = written(tmp_path)
    with pytest.raises(InvalidRequest, match=words):
        format_it(properties, **more)  # type: ignore[arg-type]
    assert not (tmp_path / "data").exists()


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    format_it(written(tmp_path))
    other = written(tmp_path, **{"node.id": "3001"})
    with pytest.raises(InvalidConfiguration, match="belongs to node 3003"):
        KraftService(other, note=lambda what, **_: None)


def test_a_directory_that_is_not_formatted_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="not formatted"):
        KraftService(written(tmp_path), note=lambda what, **_: None)
