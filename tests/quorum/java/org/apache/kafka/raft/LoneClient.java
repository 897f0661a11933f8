package org.apache.kafka.raft;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.raft.internals.BatchMemoryPool;
import org.apache.kafka.server.common.KRaftVersion;

/** Kafka's client on the doubles that Kafka's own tests use: log, network, clock, stored state. */
final class LoneClient {
    static final String CLUSTER = "raft-oracle-cluster-00";
    static final TopicPartition PARTITION = new TopicPartition("__cluster_metadata", 0);

    /** A client that never comes to rest is looked at after so many polls. */
    private static final int POLLS_MAX = 200;
    private static final int CALM_POLLS = 3;

    final int node;
    final MockTime time = new MockTime(0); // it does not move by being looked at
    final MockLog log;
    final MockNetworkChannel network = new MockNetworkChannel();
    final KafkaRaftClient<String> client;
    final Listening heard = new Listening();

    /** The requests of the client that have no answer yet, oldest first. */
    final List<RaftRequest.Outbound> unanswered = new ArrayList<>();

    private final MockMessageQueue inbox = new MockMessageQueue();
    private final MockQuorumStateStore store = new MockQuorumStateStore();

    LoneClient(JsonNode settings) throws Exception {
        node = settings.path("node").asInt(1);
        Set<Integer> voters = new TreeSet<>();
        settings.required("voters").forEach(voter -> voters.add(voter.asInt()));
        LogContext logging = new LogContext();
        log = new MockLog(PARTITION, Uuid.METADATA_TOPIC_ID, logging);
        for (JsonNode part : settings.path("log")) {
            int epoch = part.required(0).asInt();
            log.appendAsLeader(nextRecords(epoch, part.required(1).asInt()), epoch);
        }
        if (settings.path("stored").isObject()) {
            store.writeElectionState(
                election(settings.get("stored"), voters), KRaftVersion.KRAFT_VERSION_0);
        }
        client = new KafkaRaftClient<>(
            OptionalInt.of(node), directory(node), new PlainText(), network, inbox, log,
            new BatchMemoryPool(5, KafkaRaftClient.MAX_BATCH_SIZE_BYTES), time,
            new MockExpirationService(time), KafkaRaftClient.MAX_FETCH_WAIT_MS, true, CLUSTER,
            List.of(),
            Endpoints.fromInetSocketAddresses(Map.of(network.listenerName(), address(node))),
            new SupportedVersionRange((short) 0, (short) 1), logging,
            new SameJitter(settings.path("jitter").asInt(250)),
            new QuorumConfig(new AbstractConfig(QuorumConfig.CONFIG_DEF,
                Map.of(QuorumConfig.QUORUM_LINGER_MS_CONFIG, 0))));
        client.register(heard);
        Map<Integer, InetSocketAddress> addresses = new HashMap<>();
        voters.forEach(voter -> addresses.put(voter, address(voter)));
        client.initialize(addresses, store, new Metrics(time), failure -> { });
    }

    private static ElectionState election(JsonNode stored, Set<Integer> voters) {
        int epoch = stored.required("epoch").asInt();
        if (stored.hasNonNull("leader")) {
            int leader = stored.get("leader").asInt();
            return ElectionState.withElectedLeader(epoch, leader, Optional.empty(), voters);
        }
        if (stored.hasNonNull("voted")) {
            int voted = stored.get("voted").asInt();
            return ElectionState.withVotedCandidate(
                epoch, ReplicaKey.of(voted, ReplicaKey.NO_DIRECTORY_ID), voters);
        }
        return ElectionState.withUnknownLeader(epoch, voters);
    }

    /** Timeouts are drawn at random in Kafka; here a scenario says what is drawn. */
    private static final class SameJitter extends Random {
        private final int wanted;

        SameJitter(int wanted) {
            this.wanted = wanted;
        }

        @Override
        public int nextInt(int bound) {
            return Math.min(wanted, bound - 1);
        }
    }

    static Uuid directory(int node) {
        return new Uuid(7, 1_000 + node);
    }

    static String host(int node) {
        return "host" + node;
    }

    static int port(int node) {
        return 9_000 + node;
    }

    private static InetSocketAddress address(int node) {
        return InetSocketAddress.createUnresolved(host(node), port(node));
    }

    /** Records for the end of the log; each one's value is its offset. */
    MemoryRecords nextRecords(int epoch, int count) {
        long base = log.endOffset().offset();
        SimpleRecord[] records = LongStream.range(base, base + count)
            .mapToObj(offset -> new SimpleRecord(
                0L, ("r" + offset).getBytes(StandardCharsets.UTF_8)))
            .toArray(SimpleRecord[]::new);
        return MemoryRecords.withRecords(base, Compression.NONE, epoch, records);
    }

    /** Lets the client work until nothing changes any more at this time. */
    void settle() {
        List<Object> before = List.of();
        int calm = 0;
        for (int polls = 0; polls < POLLS_MAX && calm < CALM_POLLS; polls++) {
            client.poll();
            unanswered.addAll(network.drainSendQueue());
            List<Object> now = List.of(state(), heard.count(), unanswered.size());
            calm = now.equals(before) && inbox.isEmpty() ? calm + 1 : 0;
            before = now;
        }
    }

    /** What the node takes itself for, and what it has written down. */
    ObjectNode state() {
        QuorumState quorum = client.quorum();
        ObjectNode shown = QuorumOracle.JSON.createObjectNode()
            .put("state", role(quorum))
            .put("epoch", quorum.epoch())
            .put("leader", quorum.leaderIdOrSentinel())
            .put("voted", quorum.votedKey().map(ReplicaKey::id).orElse(-1))
            .put("high_watermark",
                quorum.highWatermark().map(LogOffsetMetadata::offset).orElse(-1L))
            .put("end", log.endOffset().offset())
            .put("last_epoch", log.lastFetchedEpoch());
        ElectionState stored = store.readElectionState().orElseThrow();
        shown.putObject("stored")
            .put("epoch", stored.epoch())
            .put("leader", stored.leaderIdOrSentinel())
            .put("voted", stored.optionalVotedKey().map(ReplicaKey::id).orElse(-1));
        return shown;
    }

    private static String role(QuorumState quorum) {
        if (quorum.isLeader()) {
            return "leader";
        } else if (quorum.isFollower()) {
            return "follower";
        } else if (quorum.isProspective()) {
            return "prospective";
        } else if (quorum.isCandidate()) {
            return "candidate";
        }
        return quorum.isResigned() ? "resigned" : "unattached";
    }
}
