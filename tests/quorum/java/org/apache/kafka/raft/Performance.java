package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/** Takes the steps of one scenario and makes a vector of it. */
final class Performance {
    private static final Comparator<JsonNode> BY_API_AND_RECEIVER = Comparator
        .comparing((JsonNode sent) -> sent.get("api").asText())
        .thenComparing(sent -> sent.get("to").asInt());

    private final LoneClient subject;
    private final Incoming others;
    private final List<CompletableFuture<RaftResponse.Outbound>> delayed = new ArrayList<>();
    private final Set<Integer> shown = new HashSet<>();
    private int requests;

    Performance(LoneClient subject) {
        this.subject = subject;
        this.others = new Incoming(subject);
    }

    void play(ObjectNode vector) {
        JsonNode steps = vector.required("steps");
        ArrayNode taken = vector.putArray("steps");
        subject.settle();
        observe(taken.addObject(), QuorumOracle.JSON.createObjectNode().put("op", "start"), none());
        for (JsonNode step : steps) {
            ObjectNode result = taken.addObject();
            try {
                observe(result, step, take(step));
            } catch (RuntimeException fatal) { // Kafka would end the process
                observe(result.put("dies", fatal.getClass().getSimpleName()), step, none());
                return;
            }
        }
    }

    private static JsonNode none() {
        return QuorumOracle.JSON.nullNode();
    }

    private JsonNode take(JsonNode step) {
        return switch (step.required("op").asText()) {
            case "advance" -> {
                subject.time.sleep(step.required("ms").asLong());
                subject.settle();
                yield none();
            }
            case "request" -> ask(step);
            case "reply" -> answer(step, api -> others.reply(step));
            case "fail" -> answer(step,
                api -> RaftUtil.errorResponse(api, Errors.BROKER_NOT_AVAILABLE));
            case "append" -> attempt(() -> append(step));
            case "resign" -> attempt(() -> {
                subject.client.resign(epoch(step));
                subject.settle();
                return none();
            });
            default -> throw new IllegalArgumentException("unknown step " + step);
        };
    }

    /** Another node asks; some answers come only when time passes or the log grows. */
    private JsonNode ask(JsonNode step) {
        ApiMessage message = others.request(step);
        int newest = ApiKeys.forId(message.apiKey()).latestVersion();
        RaftRequest.Inbound request = new RaftRequest.Inbound(
            subject.network.listenerName(), ++requests,
            (short) step.path("version").asInt(newest), message, subject.time.milliseconds());
        subject.client.handle(request);
        subject.settle();
        if (request.completion.isDone()) {
            return Outgoing.show(request.completion.join().data());
        }
        delayed.add(request.completion);
        return TextNode.valueOf("waits");
    }

    /** Another node answers the newest request of a kind, or fails to. */
    private JsonNode answer(
            JsonNode step, Function<ApiKeys, ApiMessage> content) {
        for (int at = subject.unanswered.size() - 1; at >= 0; at--) {
            RaftRequest.Outbound request = subject.unanswered.get(at);
            ApiKeys api = ApiKeys.forId(request.data().apiKey());
            if (api.name.equals(step.required("api").asText()) && wentTo(step, request)) {
                subject.unanswered.remove(at);
                subject.network.mockReceive(new RaftResponse.Inbound(
                    request.correlationId(), content.apply(api), request.destination()));
                subject.settle();
                return none();
            }
        }
        return TextNode.valueOf("nothing open");
    }

    private static boolean wentTo(JsonNode step, RaftRequest.Outbound request) {
        if (!step.has("from")) {
            return true;
        }
        int node = step.get("from").asInt();
        // a bootstrap server is known by its host, not yet by its id
        return request.destination().id() == node
            || request.destination().host().equals(LoneClient.host(node));
    }

    private JsonNode append(JsonNode step) {
        List<String> records = new ArrayList<>();
        step.required("records").forEach(record -> records.add(record.asText()));
        long last = subject.client.prepareAppend(epoch(step), records);
        subject.client.schedulePreparedAppend();
        subject.settle();
        return QuorumOracle.JSON.createObjectNode().put("last", last);
    }

    private int epoch(JsonNode step) {
        return step.path("epoch").asInt(subject.client.quorum().epoch());
    }

    private static JsonNode attempt(Supplier<JsonNode> call) {
        try {
            return call.get();
        } catch (RuntimeException refusal) {
            return QuorumOracle.JSON.createObjectNode()
                .put("refused", refusal.getClass().getSimpleName());
        }
    }

    /** Writes down all that came of a step. */
    private void observe(ObjectNode result, JsonNode step, JsonNode response) {
        result.set("request", step);
        result.set("response", response);
        result.putArray("sent").addAll(subject.unanswered.stream()
            .filter(request -> shown.add(request.correlationId()))
            .map(Outgoing::show)
            .sorted(BY_API_AND_RECEIVER)
            .toList());
        List<CompletableFuture<RaftResponse.Outbound>> done =
            delayed.stream().filter(CompletableFuture::isDone).toList();
        delayed.removeAll(done);
        ArrayNode completed = result.putArray("completed");
        done.forEach(answer -> completed.add(Outgoing.show(answer.join().data())));
        subject.heard.take().forEach(result.putArray("heard")::add);
        result.set("after", subject.state());
    }
}
