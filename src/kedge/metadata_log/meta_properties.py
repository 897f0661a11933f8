"""`meta.properties`: whose directory this is."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kedge.errors import InvalidRequest
from kedge.metadata_log.files import replace_file

FILE = "meta.properties"


class MetaProperties(NamedTuple):
    """The cluster, the node and the id of the directory."""

    cluster_id: str
    node_id: int
    directory_id: str


def read_meta_properties(directory: Path) -> MetaProperties:
    """What the format step wrote; InvalidRequest if the directory is not formatted."""
    path = directory / FILE
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise InvalidRequest(
            f"{directory} is not formatted: there is no {FILE}",
            hint="run `kedge controller format` (or kafka-storage format) first",
        ) from None
    found = parse_properties(text)
    try:
        return MetaProperties(found["cluster.id"], int(found["node.id"]), found["directory.id"])
    except (KeyError, ValueError) as problem:
        raise InvalidRequest(
            f"{path} has no valid {problem}", hint="format the directory"
        ) from None


def write_meta_properties(directory: Path, meta: MetaProperties) -> None:
    """Write the file; from then on the directory counts as formatted."""
    lines = {
        "cluster.id": meta.cluster_id,
        "version": "1",
        "directory.id": meta.directory_id,
        "node.id": str(meta.node_id),
    }
    text = "".join(f"{key}={value}\n" for key, value in lines.items())
    replace_file(directory / FILE, b"#\n" + text.encode())


def parse_properties(text: str) -> dict[str, str]:
    """Java properties without escapes, as Kafka's own files have them."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    return {key.strip(): value.strip() for key, _, value in pairs}
