"""Changes of many partitions for one cause: a broker that comes, goes, or loses a directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kedge.metadata import metadata_version
from kedge.metadata.change import Election, Rules, Wanted, changed
from kedge.metadata.decision import Situation
from kedge.metadata.ids import UNASSIGNED, Uuid
from kedge.metadata.image import Partition, PartitionKey, Topic
from kedge.metadata.records import PartitionChangeRecord, Versioned
from kedge.metadata.topic_settings import allows_unclean_election, min_isr


class PartitionChanger:
    """Makes the records of partition changes in one situation; knows what holds for each topic."""

    def __init__(self, at: Situation) -> None:
        self._at = at
        self._version = metadata_version.partition_version(at.level)
        self._rules: dict[Uuid, Rules] = {}
        self._unclean: dict[Uuid, bool] = {}

    def rules(self, topic: Topic) -> Rules:
        """What holds for the partitions of a topic."""
        found = self._rules.get(topic.id)
        if found is None:
            replicas = len(topic.partitions[0].replicas)
            found = self._rules[topic.id] = Rules(
                self._at.level,
                self._at.elr_enabled,
                min_isr(self._at, topic.name, replicas),
                lambda broker: default_directory(self._at, broker),
            )
        return found

    def allows_unclean(self, topic: Topic) -> bool:
        """Whether the topic may elect a replica that is not in sync."""
        found = self._unclean.get(topic.id)
        if found is None:
            found = self._unclean[topic.id] = allows_unclean_election(self._at, topic.name)
        return found

    def election(self, topic: Topic) -> Election:
        """The election that the topic allows."""
        return Election.UNCLEAN if self.allows_unclean(topic) else Election.ONLINE

    def acceptable(
        self, partition: Partition, *, without: int | None = None, also: int | None = None
    ) -> Callable[[int], bool]:
        """Tells of a broker whether it is active and its replica's directory online."""
        brokers = self._at.image.brokers

        def ok(replica: int) -> bool:
            broker = brokers.get(replica)
            if broker is None or replica == without or not (replica == also or broker.active):
                return False
            directory = partition.directory_of(replica)
            return directory is not None and broker.has_online(directory)

        return ok

    def change(
        self,
        topic: Topic,
        number: int,
        wanted: Wanted,
        *,
        ok: Callable[[int], bool] | None = None,
        rules: Rules | None = None,
    ) -> list[Versioned]:
        """The record of one partition's change, or none."""
        now = topic.partitions[number]
        record = changed(
            (topic.id, number),
            now,
            wanted,
            ok or self.acceptable(now),
            rules or self.rules(topic),
        )
        return [] if record is None else [self.versioned(record)]

    def versioned(self, record: PartitionChangeRecord) -> Versioned:
        """The record with the version that the cluster's level asks for."""
        return Versioned(record, self._version)

    def updates(
        self,
        keys: Iterable[PartitionKey],
        *,
        remove: int | None = None,
        add: int | None = None,
        unclean_shutdown: int | None = None,
    ) -> list[Versioned]:
        """Changes of leaders and ISRs for a broker that goes or comes, sorted by partition."""
        gone = remove if unclean_shutdown is None else unclean_shutdown
        records: list[Versioned] = []
        for topic_id, number in sorted(keys):
            topic = self._at.image.topics[topic_id]
            now = topic.partitions[number]
            wanted = Wanted(
                isr=tuple(replica for replica in now.isr if replica != gone),
                election=self.election(topic),
                unclean_shutdown=unclean_shutdown,
            )
            ok = self.acceptable(now, without=gone, also=add)
            records += self.change(topic, number, wanted, ok=ok)
        return records


def default_directory(at: Situation, broker: int) -> Uuid:
    """Where a broker puts a new replica, as far as the controller knows."""
    found = at.image.brokers.get(broker)
    return UNASSIGNED if found is None else found.default_directory
