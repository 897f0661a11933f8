package kedge.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.AbortTransactionRecord;
import org.apache.kafka.common.metadata.BeginTransactionRecord;
import org.apache.kafka.common.metadata.EndTransactionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.PartitionRegistration;

/** What the log says, read as a broker reads it: into Kafka's own image of the metadata. */
final class View {
    /** A broker's registration: its epoch, and where in the log it is. */
    private record Registration(long epoch, long offset) {
    }

    private final SoloLog log;
    private final Labels labels;
    private final Map<Integer, Registration> brokers = new TreeMap<>();
    private MetadataImage image = MetadataImage.EMPTY;
    private long next;

    View(SoloLog log, Labels labels) {
        this.log = log;
        this.labels = labels;
    }

    /** Reads what is new in the log and shows it. */
    ArrayNode catchUp() {
        List<ObjectNode> shown = new ArrayList<>();
        for (SoloLog.Entry entry : log.from(next)) {
            next = entry.offset() + 1;
            entry.content().ifPresent(record -> {
                labels.learn(record.message());
                replay(record.message(), entry);
                shown.add(Canon.show(record, labels));
            });
        }
        return Canon.ofStep(shown);
    }

    /** Reads the log once more: its end may be gone, and an image cannot go back. */
    void startAgain() {
        labels.recount();
        brokers.clear();
        image = MetadataImage.EMPTY;
        next = 0;
        catchUp();
    }

    private void replay(ApiMessage record, SoloLog.Entry entry) {
        if (record instanceof RegisterBrokerRecord broker) {
            brokers.put(
                broker.brokerId(), new Registration(broker.brokerEpoch(), entry.offset()));
        } else if (record instanceof UnregisterBrokerRecord broker) {
            brokers.remove(broker.brokerId());
        } else if (record instanceof BeginTransactionRecord
            || record instanceof EndTransactionRecord
            || record instanceof AbortTransactionRecord) {
            return; // an image has no transactions: brokers handle them while they load batches
        }
        // each record has a delta of its own: a topic that is created and deleted within one delta
        // leaves its configs in the image
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        delta.replay(record);
        image = delta.apply(new MetadataProvenance(entry.offset(), entry.term(), 0, true));
    }

    /** The snapshot that Kafka would write now. */
    ArrayNode snapshot() {
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, new ImageWriterOptions.Builder(image).build());
        return Canon.ofSnapshot(
            writer.records().stream().map(record -> Canon.show(record, labels)).toList());
    }

    // ---- lookups -----------------------------------------------------------------------------

    Iterable<Integer> brokers() {
        return brokers.keySet();
    }

    long epochOf(int broker, long otherwise) {
        Registration found = brokers.get(broker);
        return found == null ? otherwise : found.epoch();
    }

    long registeredAt(int broker, long otherwise) {
        Registration found = brokers.get(broker);
        return found == null ? otherwise : found.offset();
    }

    /** A topic's id; that of a topic which does not exist is one that no topic has. */
    Uuid topicId(String name) {
        TopicImage topic = image.topics().getTopic(name);
        if (topic != null) {
            return topic.id();
        }
        return labels.idOf(name.startsWith("none:") ? name : "none:" + name);
    }

    /** A partition's state, null if there is no such partition. */
    PartitionRegistration partition(String topic, int number) {
        return image.topics().getPartition(topicId(topic), number);
    }
}
