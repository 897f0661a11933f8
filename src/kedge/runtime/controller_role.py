"""Reads and writes the claim of the controller role, its epoch, features and producer ids."""

from __future__ import annotations

from kedge.errors import ControllerMoved, MalformedInput, StaleVersion
from kedge.model import BrokerId
from kedge.runtime.fenced_store import FencedStore
from kedge.store.port import (
    Check,
    Committed,
    Create,
    Created,
    Delete,
    Multi,
    Node,
    SetData,
    Store,
    Written,
)
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    FEATURE,
    PRODUCER_ID_BLOCK,
    ControllerClaim,
    Features,
    ProducerIdBlock,
    decode_controller,
    decode_controller_epoch,
    decode_features,
    decode_producer_id_block,
    encode_controller,
    encode_controller_epoch,
    encode_features,
    encode_producer_id_block,
    persistent_paths,
)

PRODUCER_IDS_PER_BLOCK = 1000
UNKNOWN_CONTROLLER = BrokerId(-1)


def read_controller(store: FencedStore, *, watch: bool = True) -> BrokerId | None:
    """Return the active controller, watched; a malformed claim counts as another process's."""
    node = store.watched(CONTROLLER) if watch else store.node(CONTROLLER)
    if node is None:
        return None
    try:
        return decode_controller(node.data).broker
    except MalformedInput as error:
        store.warn(f"{error}; the role counts as taken by another process")
        return UNKNOWN_CONTROLLER


def claim_role(
    store: FencedStore, me: BrokerId, now_ms: int, *, over: BrokerId | None = None
) -> int:
    """Create the claim and raise the epoch in one transaction; return the new epoch.

    The claim of a holder is deleted in the same transaction. It cannot be another process's by
    then: winning the role raises the epoch, and the condition on it fails.

    A conflict may be this process's own success whose answer was lost: then the claim is its own
    and the epoch is the expected one.
    """
    epoch, version = read_epoch(store)
    claim = Create(CONTROLLER, encode_controller(ControllerClaim(me, now_ms)), ephemeral=True)
    raised = SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch + 1), version)
    delete_claim = () if over is None else (Delete(CONTROLLER),)
    (answer,) = store.store.batch([Multi((*delete_claim, claim, raised))])
    if isinstance(answer, Committed) and isinstance(answer.answers[-1], Written):
        store.fence = answer.answers[-1].stat.version
        return epoch + 1
    stored_epoch, stored_version = read_epoch(store)
    if read_controller(store, watch=False) != me or stored_epoch != epoch + 1:
        raise ControllerMoved("another controller was elected first")
    store.fence = stored_version
    return stored_epoch


def read_epoch(store: FencedStore) -> tuple[int, int]:
    """Return the controller epoch and its version; create it for the first controller."""
    node = store.node(CONTROLLER_EPOCH)
    if node is None:
        # if another process created it first, it can be read now
        store.store.batch([Create(CONTROLLER_EPOCH, encode_controller_epoch(0))])
        node = store.node(CONTROLLER_EPOCH)
    if node is None:
        raise ControllerMoved("the controller epoch cannot be created")
    return decode_controller_epoch(node.data), node.stat.version


def release_role(store: FencedStore, me: BrokerId) -> None:
    """Delete this process's claim, on condition that the epoch is unchanged.

    Without a fence the claim is of an earlier run. Then the epoch is read before the claim: a
    process that wins the role in between raises it, and the condition fails.
    """
    fence = read_epoch(store)[1] if store.fence is None else store.fence
    if read_controller(store, watch=False) == me:
        store.store.batch([Multi((Check(CONTROLLER_EPOCH, fence), Delete(CONTROLLER)))])


# ---- features and producer ids ---------------------------------------------------------------


def initialise_features(store: FencedStore, *, enabled: bool, version: int) -> None:
    """Create or update the record of finalised features.

    Levels that operators finalised are kept while the record stays enabled.
    """
    node = store.node(FEATURE)
    wanted = encode_features(Features(enabled, {}, version))
    if node is None:
        store.write_one(Create(FEATURE, wanted))
        return
    try:
        stored = decode_features(node.data)
    except MalformedInput as error:
        store.warn(f"{error}; the features are left as they are")
        return
    if stored.enabled is not enabled:
        store.write_one(SetData(FEATURE, wanted, node.stat.version))


def allocate_producer_ids(store: FencedStore, broker: BrokerId) -> tuple[int, int]:
    """Allocate the next block, with retries on concurrent allocations."""
    while True:
        node = store.node(PRODUCER_ID_BLOCK)
        first = next_producer_id(node)
        block = ProducerIdBlock(broker, first, first + PRODUCER_IDS_PER_BLOCK - 1)
        data = encode_producer_id_block(block)
        if node is None:
            answer = store.write_one(Create(PRODUCER_ID_BLOCK, data))
        else:
            answer = store.write_one(SetData(PRODUCER_ID_BLOCK, data, node.stat.version))
        if isinstance(answer, Written | Created):
            return first, PRODUCER_IDS_PER_BLOCK
        if not isinstance(answer, StaleVersion):
            raise ControllerMoved("the record of producer ids vanished")


def next_producer_id(node: Node | None) -> int:
    """Return the first id that is not allocated."""
    block = None if node is None else decode_producer_id_block(node.data)
    return 0 if block is None else block.last + 1


# ---- layout ----------------------------------------------------------------------------------


def create_persistent_nodes(store: Store) -> None:
    """Create the nodes that Kafka's brokers create when they start; existing ones stay."""
    store.batch([Create(path) for path in persistent_paths()])
