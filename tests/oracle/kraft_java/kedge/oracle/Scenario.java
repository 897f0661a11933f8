package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.errors.ApiException;

/** Takes the steps of one scenario and makes a vector of it. */
final class Scenario {
    /** Takes one step; writes into it the numbers that were left for the oracle to fill in. */
    @FunctionalInterface
    interface Action {
        Reply<?> take(ObjectNode step) throws Exception;
    }

    /** A step whose answer waits for a commit. */
    private record Unanswered(ObjectNode shown, Reply<?> reply) {
        void answer(Labels labels) throws Exception {
            shown.set("response", labels.applyTo(reply.show()));
        }
    }

    private final Cluster cluster;
    private final Map<String, Action> actions = new HashMap<>();
    private final List<Unanswered> unanswered = new ArrayList<>();

    Scenario(Cluster cluster) {
        this.cluster = cluster;
        new BrokerRequests(cluster).addTo(actions);
        new TopicRequests(cluster).addTo(actions);
        new PartitionRequests(cluster).addTo(actions);
        new ConfigRequests(cluster).addTo(actions);
        new SecurityRequests(cluster).addTo(actions);
        actions.put("hold", step -> {
            cluster.log.withhold();
            return Reply.none();
        });
        actions.put("failover", step ->
            Reply.of(Fields.object().put("lost", cluster.failOver())));
        actions.put("expire", step -> {
            cluster.silence(Fields.integer(step, "broker"));
            return Reply.none();
        });
        actions.put("advance", step -> {
            Duration span = Duration.ofMillis(step.required("ms").asLong());
            if (step.path("contact").asBoolean(true)) {
                cluster.pass(span);
            } else {
                cluster.passInSilence(span);
            }
            return Reply.none();
        });
    }

    void play(ObjectNode vector) throws Exception {
        List<JsonNode> steps = Fields.listOf(vector.required("steps"));
        ArrayNode taken = vector.putArray("steps");
        cluster.log.win();
        finish(taken.addObject(), Fields.object().put("op", "activate"), Reply.none(), false);
        for (JsonNode step : steps) {
            ObjectNode request = step.deepCopy();
            boolean held = cluster.log.isWithholding();
            Reply<?> reply = take(request);
            finish(taken.addObject(), request, reply, held && cluster.log.isWithholding());
        }
        vector.set("snapshot", cluster.view.snapshot());
    }

    private Reply<?> take(ObjectNode request) throws Exception {
        Action action = actions.get(Fields.text(request, "op"));
        if (action == null) {
            throw new IllegalArgumentException("unknown step " + request);
        }
        try {
            return action.take(request);
        } catch (ApiException refusal) { // by a check that Kafka makes before it queues a request
            return Reply.of(Fields.outcome(refusal));
        }
    }

    /** Fills in what a step led to. Records are read first: they tell the labels of new ids. */
    private void finish(ObjectNode shown, ObjectNode request, Reply<?> reply, boolean held)
            throws Exception {
        if (!held) {
            reply.await();
        }
        cluster.settle();
        shown.set("request", request);
        shown.put("response", "pending");
        shown.set("records", cluster.view.catchUp());
        shown.put("end", cluster.log.logEndOffset());
        unanswered.add(new Unanswered(shown, reply));
        if (!held) {
            answerAll();
        }
    }

    private void answerAll() throws Exception {
        for (Unanswered one : unanswered) {
            one.answer(cluster.labels);
        }
        unanswered.clear();
    }
}
