"""What the operator of a cluster has chosen, as far as administrators notice it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kedge.topics import (
    V3_9,
    AlterProposal,
    AutoCreate,
    CreateProposal,
    Defaults,
    Policy,
    Release,
    TieredRules,
    allow,
)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The brokers' settings; `static` is what else their files say, by the brokers' names."""

    defaults: Defaults = field(default_factory=Defaults)
    auto_create: AutoCreate = field(default_factory=AutoCreate)
    deletion_enabled: bool = True
    release: Release = V3_9
    tiered: TieredRules | None = None
    partitions_max: int = 200_000  # in one request: more is a slip, or an attack
    create_policy: Policy[CreateProposal] = allow
    alter_policy: Policy[AlterProposal] = allow
    static: Mapping[str, str] = field(default_factory=dict[str, str])

    def properties(self) -> dict[str, str]:
        """What brokers would have in their files: that which is not as it is by default."""
        chosen = {
            "num.partitions": (self.defaults.partitions, Defaults().partitions),
            "default.replication.factor": (
                self.defaults.replication_factor,
                Defaults().replication_factor,
            ),
            "auto.create.topics.enable": (self.auto_create.enabled, True),
            "delete.topic.enable": (self.deletion_enabled, True),
        }
        told = {name: str(now).lower() for name, (now, usual) in chosen.items() if now != usual}
        return {**told, **self.static}
