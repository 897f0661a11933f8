"""The optimisation problem: a cluster as flat arrays, every goal as a number in one of them.

B brokers, P partitions, at most K replicas each, R = 4 resources (`model.Resource`). Brokers and
topics are indexes; their ids and names are in the snapshot.

    rack           int32[B]        the rack of each broker; without racks each is a rack of its own
    capacity       float64[B, R]   what a broker can carry; 1.0 everywhere where none is known
    must_empty     bool[B]         draining or dead: must end with no replica
    may_receive    bool[B]         may receive a replica that it does not hold
    may_give       bool[B]         may lose a replica for balance (false: an excluded broker)
    max_replicas   int32[B]        most replicas that a broker may hold
    topic          int32[P]
    initial        int32[P, K]     brokers of the replicas now, padded with -1; column 0 leads
    wanted         int32[P]        how many replicas are wanted
    movable        bool[P]         replicas may change brokers for balance
    leader_movable bool[P]         another replica may be put first
    leader_load    float64[P, R]   what the leader of a partition with `wanted` replicas carries
    follower_load  float64[P, R]   what each of its followers carries
    rack_limit     int32[P]        most replicas of the partition in one rack
    weight         float64[R]      0 leaves a resource out; others scale the soft goals
    tolerance      float64[R]      a broker may be (1 + tolerance) × the best possible maximum
    hard_limit     float64[B, R]   most load that a broker may be filled to; inf without a limit

Column 0 of `initial` is the leader that the plan starts from, and column 0 of the solution is the
leader that it ends with: putting another replica first moves no data.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

SMALL = 200_000  # replicas × brokers up to which every pair of partition and broker is evaluated


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A cluster to balance; see the module for the arrays."""

    rack: Int32s
    capacity: Floats
    must_empty: Bools
    may_receive: Bools
    may_give: Bools
    max_replicas: Int32s
    topic: Int32s
    initial: Int32s
    wanted: Int32s
    movable: Bools
    leader_movable: Bools
    leader_load: Floats
    follower_load: Floats
    rack_limit: Int32s
    weight: Floats
    tolerance: Floats
    hard_limit: Floats

    def __post_init__(self) -> None:
        for field in fields(self):
            array: npt.NDArray[np.generic] = getattr(self, field.name)
            array.setflags(write=False)

    @property
    def brokers(self) -> int:
        """Number of brokers, those that must end empty included."""
        return len(self.rack)

    @property
    def size(self) -> Floats:
        """Bytes of one replica of each partition: what moving it costs."""
        return self.follower_load[:, 0]


def is_small(problem: Problem) -> bool:
    """Whether evaluating every pair of partition and broker is worth its time."""
    return 0 < problem.initial.size * problem.brokers <= SMALL


def broker_loads(problem: Problem, replicas: Int32s) -> Floats:
    """float64[B, R]: the load of each broker under an assignment, column 0 leading.

    Each partition counts with its wanted replicas.
    """
    loads = np.zeros((problem.brokers, problem.capacity.shape[1]))
    for column in range(replicas.shape[1]):
        load = problem.leader_load if column == 0 else problem.follower_load
        there = np.nonzero(replicas[:, column] >= 0)[0]
        at = replicas[there, column]
        for r in range(loads.shape[1]):
            loads[:, r] += np.bincount(at, load[there, r], problem.brokers)
    return loads
