import java.io.BufferedReader;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.kafka.admin.BrokerMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.tools.reassign.ReassignPartitionsCommand;

/**
 * Times what `kafka-reassign-partitions --generate` computes, on assignments read from files.
 *
 * Each argument is IN:OUT. IN has a line of racks (one per broker that may be used, as id=rack) and
 * then one line per partition: topic, partition, replicas by commas. OUT is written in that form.
 * Answered by a line: "row", nanoseconds of the best of five calls.
 */
public final class KafkaGenerate {
    public static void main(String[] files) throws Exception {
        Method calculate = ReassignPartitionsCommand.class.getDeclaredMethod(
            "calculateAssignment", Map.class, List.class);
        calculate.setAccessible(true);
        for (String pair : files) {
            String[] names = pair.split(":");
            run(calculate, Path.of(names[0]), Path.of(names[1]));
        }
    }

    private static void run(Method calculate, Path in, Path out) throws Exception {
        List<BrokerMetadata> brokers = new ArrayList<>();
        Map<TopicPartition, List<Integer>> now = new HashMap<>();
        try (BufferedReader lines = Files.newBufferedReader(in)) {
            for (String one : lines.readLine().split(" ")) {
                String[] idAndRack = one.split("=");
                int id = Integer.parseInt(idAndRack[0]);
                brokers.add(new BrokerMetadata(id, Optional.of(idAndRack[1])));
            }
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] field = line.split(" ");
                now.put(
                    new TopicPartition(field[0], Integer.parseInt(field[1])),
                    Arrays.stream(field[2].split(",")).map(Integer::valueOf).toList());
            }
        }
        long best = Long.MAX_VALUE;
        Object made = null;
        for (int round = 0; round < 5; round++) {
            long before = System.nanoTime();
            made = calculate.invoke(null, now, brokers);
            best = Math.min(best, System.nanoTime() - before);
        }
        write(out, made);
        System.out.printf("row %d%n", best);
    }

    @SuppressWarnings("unchecked")
    private static void write(Path out, Object made) throws Exception {
        try (PrintWriter writer = new PrintWriter(Files.newBufferedWriter(out))) {
            ((Map<TopicPartition, List<Integer>>) made).forEach((tp, replicas) -> writer.println(
                tp.topic() + " " + tp.partition() + " "
                    + replicas.stream().map(String::valueOf).collect(Collectors.joining(","))));
        }
    }
}
