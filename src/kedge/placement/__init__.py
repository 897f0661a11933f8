"""Where new replicas go: Kafka's placement algorithms, one strategy per file.

Goal. Given the brokers, a number of partitions and a replication factor, say which brokers hold
each partition, the preferred leader first, exactly as Kafka would have said it.

What a good placement is: no partition has two replicas on one broker; leaders are spread evenly;
so are followers, and not always in the same company; and with racks, a partition has its replicas
in as many racks as it can.

The ring. Brokers stand in a ring of n. Partition ids go round it: the partition with id p is led
from position (p + start) mod n, and its followers stand on the ring at a distance that `shift`
gives. Each time the ids have gone round once, shift grows by one, so that the brokers that share
a leader are not the same ones again. Five brokers, start 0, shift 0, three replicas:

    partition   0      1      2      3      4      5      6      7      8      9
    leader      0      1      2      3      4      0      1      2      3      4
    followers   1,2    2,3    3,4    4,0    0,1    2,3    3,4    4,0    0,1    1,2
                shift 0 ........................   shift 1 ........................

(With shift 1 the follower ring of broker 3 is 4,0,1,2 entered at 0.)

    place         judges a request, then takes the algorithm that the racks call for (KIP-36)
    rack_unaware  no broker has a rack: the ring as above
    rack_aware    every broker has one: the ring alternates racks, and used racks are passed over
    expand        new partitions for a topic that has some; existing ones never change
    manual        the text `0:1:2,1:2:0` in which people place by hand
    striped       the placer of clusters without ZooKeeper (KRaft, KIP-500)
    brokers       which brokers take part, and whether their racks count

Nothing random is drawn here: a `Start` arrives with its two numbers, or a `draw` from outside.
Results are columns (`Placement`): a million partitions are one matrix, not a million lists.
"""

from kedge.placement.brokers import RackMode, choose_brokers
from kedge.placement.expand import expand
from kedge.placement.manual import parse_manual
from kedge.placement.place import place
from kedge.placement.rack_aware import alternate_racks
from kedge.placement.result import Placement
from kedge.placement.start import Draw, Start, drawn, fixed
from kedge.placement.striped import place_striped

__all__ = [
    "Draw",
    "Placement",
    "RackMode",
    "Start",
    "alternate_racks",
    "choose_brokers",
    "drawn",
    "expand",
    "fixed",
    "parse_manual",
    "place",
    "place_striped",
]
