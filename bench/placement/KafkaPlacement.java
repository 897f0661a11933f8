import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import kafka.controller.ReplicaAssignment;
import kafka.zk.AdminZkClient;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Times Kafka's own placement code on the cases named on the command line.
 *
 * Each argument is one case of comma-separated fields:
 *   name, kind (ring | controller), brokers, racks (0 for none), partitions, replication factor,
 *   start, first partition, calls per round, rounds to warm up, rounds to measure
 * and is answered by a line: "row", name, median and best nanoseconds per call, SHA-256 of the
 * result's compact text (which is not timed).
 *
 * "ring" calls the bare algorithm. "controller" calls the method with which the controller expands
 * a topic: the same algorithm, then a copy into the controller's own kind of map.
 */
public final class KafkaPlacement {
    private interface Work {
        Object once();

        Map<Integer, List<Integer>> read(Object made);
    }

    private record Case(
        String name, String kind, int brokers, int racks, int partitions, int rf, int start,
        int first, int calls, int warmups, int rounds) {

        static Case of(String text) {
            String[] field = text.split(",");
            int[] n = Arrays.stream(field).skip(2).mapToInt(Integer::parseInt).toArray();
            return new Case(
                field[0], field[1], n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]);
        }
    }

    private static volatile Object kept; // so that no result is optimised away

    public static void main(String[] cases) throws Exception {
        for (String text : cases) {
            run(Case.of(text));
        }
    }

    private static void run(Case asked) throws Exception {
        Work work = asked.kind.equals("ring") ? ring(asked) : controller(asked);
        for (int round = 0; round < asked.warmups; round++) {
            time(work, asked.calls);
        }
        long[] times = new long[asked.rounds];
        for (int round = 0; round < times.length; round++) {
            times[round] = time(work, asked.calls);
        }
        Arrays.sort(times);
        double median = (double) times[times.length / 2] / asked.calls;
        double best = (double) times[0] / asked.calls;
        kept = null;
        String digest = digest(work.read(work.once()));
        System.out.printf("row %s %.1f %.1f %s%n", asked.name, median, best, digest);
    }

    private static long time(Work work, int calls) {
        kept = null;
        if (calls == 1) {
            System.gc(); // the garbage of one round is not the bill of the next
        }
        long before = System.nanoTime();
        for (int call = 0; call < calls; call++) {
            kept = work.once();
        }
        return System.nanoTime() - before;
    }

    @SuppressWarnings("unchecked")
    private static Work ring(Case asked) {
        List<BrokerMetadata> brokers = brokers(asked);
        return new Work() {
            public Object once() {
                return AdminUtils.assignReplicasToBrokers(
                    brokers, asked.partitions, asked.rf, asked.start, asked.first);
            }

            public Map<Integer, List<Integer>> read(Object made) {
                return (Map<Integer, List<Integer>>) made;
            }
        };
    }

    @SuppressWarnings("unchecked")
    private static Work controller(Case asked) {
        var brokers = CollectionConverters.asScala(brokers(asked)).toSeq();
        var topic = CollectionConverters.asScala(topicLedBy(asked.start, asked.first, asked.rf));
        AdminZkClient client = new AdminZkClient(null, Option.empty());
        return new Work() {
            public Object once() {
                return client.createNewPartitionsAssignment(
                    "topic", topic, brokers, asked.first + asked.partitions, Option.empty());
            }

            public Map<Integer, List<Integer>> read(Object made) {
                Map<Integer, List<Integer>> rows = new HashMap<>();
                CollectionConverters.asJava((scala.collection.Map<Object, ReplicaAssignment>) made)
                    .forEach((id, row) -> rows.put((Integer) id, integers(row)));
                return rows;
            }
        };
    }

    /** A topic as far as expansion looks at it: its size, and the replicas of partition 0. */
    private static Map<Object, ReplicaAssignment> topicLedBy(int leader, int partitions, int rf) {
        List<Object> replicas = new ArrayList<>();
        for (int at = 0; at < rf; at++) {
            replicas.add(leader + at);
        }
        var row = ReplicaAssignment.apply(CollectionConverters.asScala(replicas).toSeq());
        Map<Object, ReplicaAssignment> topic = new HashMap<>();
        for (int id = 0; id < partitions; id++) {
            topic.put(id, row);
        }
        return topic;
    }

    private static List<Integer> integers(ReplicaAssignment row) {
        List<Integer> ids = new ArrayList<>();
        CollectionConverters.asJava(row.replicas()).forEach(id -> ids.add((Integer) id));
        return ids;
    }

    private static List<BrokerMetadata> brokers(Case asked) {
        List<BrokerMetadata> brokers = new ArrayList<>();
        for (int id = 0; id < asked.brokers; id++) {
            Optional<String> rack =
                asked.racks == 0 ? Optional.empty() : Optional.of("rack" + id % asked.racks);
            brokers.add(new BrokerMetadata(id, rack));
        }
        return brokers;
    }

    private static String digest(Map<Integer, List<Integer>> rows) throws Exception {
        StringBuilder text = new StringBuilder("[");
        new TreeMap<>(rows).forEach((id, replicas) -> {
            text.append(text.length() > 1 ? ",[" : "[").append(id).append(",[");
            for (int at = 0; at < replicas.size(); at++) {
                text.append(at > 0 ? "," : "").append(replicas.get(at));
            }
            text.append("]]");
        });
        byte[] bytes = text.append("]").toString().getBytes(StandardCharsets.US_ASCII);
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }
}
