package org.apache.kafka.controller;

// In this package only to reach the package-private managers; all code here is our own.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.*;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.BrokerHeartbeatReply;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.raft.internals.MemoryBatchReader;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.fault.FaultHandler;
import org.apache.kafka.snapshot.SnapshotWriter;

import java.io.File;
import java.util.*;
import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Plays scenarios against Kafka's own QuorumController, on a one-node log and a clock that only we move,
 * and prints every answer with the metadata records it cost.
 *
 *   java -cp "out:$JARS/*" org.apache.kafka.controller.KraftOracle scenarios.json vectors.json
 */
public final class KraftOracle {
    static final ObjectMapper JSON = new ObjectMapper();

    // ------------------------------------------------------------------ clock and log
    static final class Clock implements Time {
        volatile long ns = 1_000_000_000L;
        public long milliseconds() { return ns / 1_000_000; }
        public long nanoseconds() { return ns; }
        public void sleep(long ms) { ns += ms * 1_000_000; }
        public void waitObject(Object o, Supplier<Boolean> c, long d) { throw new UnsupportedOperationException(); }
        public <T> T waitForFuture(CompletableFuture<T> f, long deadlineNs) throws java.util.concurrent.TimeoutException, InterruptedException, ExecutionException { return f.get(10, TimeUnit.SECONDS); }
    }

    record Entry(long offset, int epoch, ApiMessageAndVersion record) { }

    /** A quorum of one. Offset 0 and the first offset of each later term hold the leader change record, as in a real log. */
    static final class OneNode implements RaftClient<ApiMessageAndVersion> {
        final int id; final Clock clock; final List<Entry> log = new ArrayList<>(); final List<long[]> batches = new ArrayList<>();
        Listener<ApiMessageAndVersion> listener; volatile int epoch = 0; volatile long end = 0; volatile boolean leading = false; volatile boolean hold = false;
        final List<Runnable> held = new ArrayList<>(); List<ApiMessageAndVersion> prepared = new ArrayList<>(); long preparedBase; volatile long committed = 0;
        OneNode(int id, Clock clock) { this.id = id; this.clock = clock; }
        public void register(Listener<ApiMessageAndVersion> l) { listener = l; }
        public void unregister(Listener<ApiMessageAndVersion> l) { }
        public OptionalLong highWatermark() { return OptionalLong.of(committed); }
        public LeaderAndEpoch leaderAndEpoch() { return new LeaderAndEpoch(leading ? OptionalInt.of(id) : OptionalInt.empty(), epoch); }
        public OptionalInt nodeId() { return OptionalInt.of(id); }
        public synchronized long prepareAppend(int e, List<ApiMessageAndVersion> records) {
            if (records.isEmpty()) throw new IllegalArgumentException("no records");
            preparedBase = end; prepared = new ArrayList<>(records); return end + records.size() - 1;
        }
        public synchronized void schedulePreparedAppend() {
            long base = preparedBase; int e = epoch; List<ApiMessageAndVersion> rs = prepared; prepared = new ArrayList<>();
            for (int i = 0; i < rs.size(); i++) log.add(new Entry(base + i, e, rs.get(i)));
            end = base + rs.size(); batches.add(new long[] {base, rs.size()});
            Runnable commit = () -> {
                committed = base + rs.size();
                listener.handleCommit(MemoryBatchReader.of(List.of(Batch.data(base, e, clock.milliseconds(), 100, rs)), r -> { }));
            };
            if (hold) held.add(commit); else commit.run();
        }
        public CompletableFuture<Void> shutdown(int t) { return CompletableFuture.completedFuture(null); }
        public void resign(int e) { leading = false; }
        public Optional<SnapshotWriter<ApiMessageAndVersion>> createSnapshot(OffsetAndEpoch id, long t) { return Optional.empty(); }
        public Optional<OffsetAndEpoch> latestSnapshotId() { return Optional.empty(); }
        public long logEndOffset() { return end; }
        public KRaftVersion kraftVersion() { return KRaftVersion.KRAFT_VERSION_0; }
        public void upgradeKRaftVersion(int e, KRaftVersion v, boolean validateOnly) { throw new org.apache.kafka.common.errors.InvalidUpdateVersionException("not in this oracle"); }
        public void close() { }
        void lead(int newEpoch) { epoch = newEpoch; end++; committed = end; leading = true; listener.handleLeaderChange(new LeaderAndEpoch(OptionalInt.of(id), newEpoch)); }
        /** Another node leads: what was not committed here is gone. */
        synchronized void lose(int newEpoch) {
            epoch = newEpoch; leading = false; held.clear(); hold = false;
            log.removeIf(x -> x.offset() >= committed); batches.removeIf(b -> b[0] >= committed); end = committed;
            listener.handleLeaderChange(new LeaderAndEpoch(OptionalInt.of(id + 1), newEpoch));
        }
    }

    // ------------------------------------------------------------------ names for generated ids
    final Map<Uuid, String> names = new HashMap<>();
    final Map<String, Uuid> ids = new HashMap<>();
    final Map<String, Integer> born = new HashMap<>();
    void name(String n, Uuid u) { names.put(u, n); ids.put(n, u); }
    Uuid uuid(String n) {
        if (n.startsWith("dir:") || n.startsWith("inc:") || n.startsWith("none:"))
            return ids.computeIfAbsent(n, k -> { UUID j = UUID.nameUUIDFromBytes(k.getBytes()); Uuid u = new Uuid(j.getMostSignificantBits(), j.getLeastSignificantBits()); names.put(u, k); return u; });
        Uuid u = ids.get(n); if (u == null) throw new IllegalArgumentException("no id named " + n); return u;
    }
    void learn(ApiMessage m) {
        if (m instanceof TopicRecord t) { int k = born.merge("t" + t.name(), 1, Integer::sum); name("topic:" + t.name() + (k > 1 ? "#" + k : ""), t.topicId()); }
        if (m instanceof AccessControlEntryRecord a) { int k = born.merge("acl", 1, Integer::sum); name("acl:" + k, a.id()); }
    }
    JsonNode symbolic(JsonNode n) {
        if (n.isTextual()) { String s = n.asText(); if (s.length() == 22) try { String k = names.get(Uuid.fromString(s)); if (k != null) return new TextNode(k); } catch (IllegalArgumentException e) { /* not an id */ } if (s.length() > 22) for (Map.Entry<Uuid, String> e : names.entrySet()) s = s.replace(e.getKey().toString(), e.getValue()); return new TextNode(s); }
        if (n.isArray()) { ArrayNode a = JSON.createArrayNode(); n.forEach(x -> a.add(symbolic(x))); return a; }
        if (n.isObject()) { ObjectNode o = JSON.createObjectNode(); n.fields().forEachRemaining(f -> o.set(f.getKey(), symbolic(f.getValue()))); return o; }
        return n;
    }
    static String kind(ApiMessage m) { String s = m.getClass().getSimpleName(); return s.endsWith("Record") ? s.substring(0, s.length() - 6) : s; }
    ObjectNode record(Entry e) {
        ObjectNode o = JSON.createObjectNode();
        o.put("type", kind(e.record().message())); o.put("version", e.record().version());
        ObjectNode d = (ObjectNode) symbolic(MetadataJsonConverters.writeJson(e.record().message(), e.record().version()));
        if (d.path("eligibleLeaderReplicas").isArray()) { List<Integer> l = ints(d.get("eligibleLeaderReplicas")); Collections.sort(l); ArrayNode a = d.putArray("eligibleLeaderReplicas"); l.forEach(a::add); } // a hash set's order in Kafka
        if (d.path("features").isArray()) { List<JsonNode> l = new ArrayList<>(); d.get("features").forEach(l::add); l.sort(Comparator.comparing(x -> x.get("name").asText())); ArrayNode a = d.putArray("features"); l.forEach(a::add); }
        o.set("data", d);
        return o;
    }
    /** Runs of records of one type are put in order of their keys: Kafka's own order there is that of a hash table. */
    static String sortKey(JsonNode r) {
        JsonNode d = r.get("data");
        return switch (r.get("type").asText()) {
            case "PartitionChange", "Partition" -> d.path("topicId").asText() + String.format("/%09d", d.path("partitionId").asInt());
            case "Config" -> d.path("resourceType").asText() + "/" + d.path("resourceName").asText() + "/" + d.path("name").asText();
            case "FeatureLevel" -> d.path("name").asText();
            case "RemoveTopic" -> d.path("topicId").asText();
            case "ClientQuota" -> d.path("entity").toString() + d.path("key").asText();
            case "RemoveAccessControlEntry" -> d.path("id").asText();
            case "ClearElr" -> d.path("topicName").asText();
            case "UserScramCredential", "RemoveUserScramCredential" -> d.path("name").asText() + d.path("mechanism").asText();
            default -> "";
        };
    }
    static ArrayNode canonical(List<ObjectNode> in) {
        List<ObjectNode> out = new ArrayList<>(); int i = 0;
        while (i < in.size()) {
            int j = i; String t = in.get(i).get("type").asText();
            while (j < in.size() && in.get(j).get("type").asText().equals(t)) j++;
            List<ObjectNode> run = new ArrayList<>(in.subList(i, j)); if (!t.equals("AccessControlEntry") && !t.equals("BrokerRegistrationChange") && !t.equals("RegisterBroker")) run.sort(Comparator.comparing(KraftOracle::sortKey));
            out.addAll(run); i = j;
        }
        ArrayNode a = JSON.createArrayNode(); out.forEach(a::add); return a;
    }

    // ------------------------------------------------------------------ one case
    final Clock clock = new Clock();
    final OneNode raft; final QuorumController controller; final JsonNode set; final String cluster = "kraft-oracle-cluster-0";
    final List<String> faults = Collections.synchronizedList(new ArrayList<>());
    MetadataImage image = MetadataImage.EMPTY; int seen = 0;
    final Map<Integer, Long> epochs = new TreeMap<>(); final Map<Integer, Long> registeredAt = new TreeMap<>(); final Map<Integer, Boolean> fenced = new TreeMap<>();
    static KafkaConfigSchema SCHEMA; static ConfigurationValidator VALIDATOR;

    static long ms(JsonNode n, String k, long dflt) { return n.has(k) && !n.get(k).isNull() ? n.get(k).asLong() : dflt; }

    KraftOracle(JsonNode settings) throws Exception {
        set = settings; int node = 3000; raft = new OneNode(node, clock);
        Map<String, Short> features = new TreeMap<>();
        settings.path("features").fields().forEachRemaining(f -> features.put(f.getKey(), (short) f.getValue().asInt()));
        MetadataVersion mv = MetadataVersion.fromVersionString(settings.path("metadata_version").asText("4.1-IV1"));
        long never = 1_000_000_000_000L;
        FaultHandler faultHandler = (message, t) -> { faults.add(message + (t == null ? "" : ": " + t)); return new RuntimeException(message, t); };
        Map<String, Object> statics = new HashMap<>();
        settings.path("static").fields().forEachRemaining(f -> statics.put(f.getKey(), f.getValue().asText()));
        controller = new QuorumController.Builder(node, cluster).setTime(clock).setConfigSchema(SCHEMA).setRaftClient(raft)
            .setQuorumFeatures(new QuorumFeatures(node, QuorumFeatures.defaultSupportedFeatureMap(false), List.of(node)))
            .setDefaultReplicationFactor((short) ms(settings, "default_replication_factor", 3)).setDefaultNumPartitions((int) ms(settings, "default_partitions", 1))
            .setReplicaPlacer(new StripedReplicaPlacer(constant((int) ms(settings, "draw", 0))))
            .setSessionTimeoutNs(ms(settings, "session_ms", 9000) * 1_000_000L)
            .setLeaderImbalanceCheckIntervalNs(settings.hasNonNull("preferred_ms") ? OptionalLong.of(settings.get("preferred_ms").asLong() * 1_000_000L) : OptionalLong.empty())
            .setMaxIdleIntervalNs(settings.hasNonNull("idle_ms") ? OptionalLong.of(settings.get("idle_ms").asLong() * 1_000_000L) : OptionalLong.empty())
            .setUncleanLeaderElectionCheckIntervalMs(ms(settings, "unclean_ms", never)).setDelegationTokenExpiryCheckIntervalMs(never)
            .setControllerPerformanceSamplePeriodMs(never).setControllerPerformanceAlwaysLogThresholdMs(1_000_000)
            .setMaxRecordsPerBatch((int) ms(settings, "max_records_per_batch", 10000))
            .setConfigurationValidator(VALIDATOR).setStaticConfig(statics).setBootstrapMetadata(BootstrapMetadata.fromVersions(mv, features, "oracle"))
            .setFatalFaultHandler(faultHandler).setNonFatalFaultHandler(faultHandler).build();
    }

    /** Every draw is the same: Kafka draws for its racks in the order of a hash table, which nobody should have to copy. */
    static Random constant(int draw) {
        return new Random() {
            @Override public int nextInt(int bound) { return draw % bound; }
        };
    }

    ControllerRequestContext context(int version) {
        return new ControllerRequestContext(new RequestHeaderData().setRequestApiVersion((short) version).setClientId("oracle"), new KafkaPrincipal("User", "oracle"), OptionalLong.empty());
    }
    void settle() throws Exception {
        int last = -1, same = 0;
        while (same < 3) { controller.appendReadEvent("look", OptionalLong.empty(), () -> 1).get(20, TimeUnit.SECONDS); int n; synchronized (raft) { n = raft.log.size(); } if (n == last) same++; else { same = 0; last = n; } }
    }
    /** The records since the last look; they also go through Kafka's own image. */
    ArrayNode fresh() {
        List<Entry> mine; synchronized (raft) { mine = new ArrayList<>(raft.log.subList(Math.min(seen, raft.log.size()), raft.log.size())); seen = raft.log.size(); }
        if (mine.isEmpty()) return JSON.createArrayNode();
        // one delta per record: within one delta Kafka keeps the configs of a topic that is both made and removed
        List<ObjectNode> out = new ArrayList<>();
        for (Entry e : mine) {
            ApiMessage m = e.record().message(); learn(m);
            if (m instanceof RegisterBrokerRecord r) { epochs.put(r.brokerId(), r.brokerEpoch()); registeredAt.put(r.brokerId(), e.offset()); fenced.put(r.brokerId(), r.fenced()); }
            if (m instanceof UnregisterBrokerRecord r) { epochs.remove(r.brokerId()); fenced.remove(r.brokerId()); registeredAt.remove(r.brokerId()); }
            if (m instanceof BrokerRegistrationChangeRecord r && r.fenced() != 0) fenced.put(r.brokerId(), r.fenced() > 0);
            out.add(record(e)); if (m instanceof BeginTransactionRecord || m instanceof EndTransactionRecord || m instanceof AbortTransactionRecord) continue;
            MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build(); delta.replay(m);
            image = delta.apply(new MetadataProvenance(e.offset(), e.epoch(), 0, true));
        }
        return canonical(out);
    }
    ArrayNode snapshot() {
        RecordListWriter w = new RecordListWriter();
        image.write(w, new ImageWriterOptions.Builder(image).build());
        List<ObjectNode> out = new ArrayList<>();
        for (ApiMessageAndVersion r : w.records()) out.add(record(new Entry(0, 0, r)));
        out.sort(Comparator.comparing((ObjectNode r) -> r.get("type").asText()).thenComparing(r -> r.get("data").path("brokerId").asInt(0)).thenComparing(r -> r.get("data").path("name").asText()).thenComparing(KraftOracle::sortKey));
        ArrayNode a = JSON.createArrayNode(); out.forEach(a::add); return a;
    }

    static List<Integer> ints(JsonNode n) { List<Integer> out = new ArrayList<>(); n.forEach(x -> out.add(x.asInt())); return out; }
    long epochOf(ObjectNode op) {
        JsonNode e = op.get("epoch"); int b = op.get("broker").asInt();
        long v = e == null || e.isNull() ? epochs.getOrDefault(b, -1L) : e.isTextual() && e.asText().startsWith("stale") ? epochs.getOrDefault(b, 0L) - 1 : e.asLong();
        op.put("epoch", v); return v;
    }
    /** The id of a topic; of one that does not exist, an id that nobody has. */
    Uuid idOf(String t) { if (t.startsWith("none:")) return uuid(t); Uuid u = topicId(t); return u == null ? uuid("none:" + t) : u; }
    Uuid topicId(String t) { Uuid u = controller.replicationControl().getTopicId(t); return u; }
    PartitionRegistration part(String topic, int p) { Uuid u = topicId(topic); return u == null ? null : controller.replicationControl().getPartition(u, p); }
    static ObjectNode error(Throwable t) {
        while (t instanceof ExecutionException || t instanceof java.util.concurrent.CompletionException) t = t.getCause();
        ApiError e = ApiError.fromThrowable(t); ObjectNode o = JSON.createObjectNode(); o.put("error", e.error().name()); o.put("message", e.message()); return o;
    }
    static ObjectNode apiError(ApiError e) { ObjectNode o = JSON.createObjectNode(); o.put("error", e.error().name()); o.put("message", e.message()); return o; }

    JsonNode perform(ObjectNode op) throws Exception {
        try { return symbolic(act(op)); } catch (ExecutionException | RuntimeException e) {
            if (e instanceof RuntimeException && !(e instanceof org.apache.kafka.common.errors.ApiException)) throw (RuntimeException) e;
            return symbolic(error(e));
        }
    }
    static <T> T get(CompletableFuture<T> f) throws Exception { return f.get(20, TimeUnit.SECONDS); }

    /** Time passes; all brokers that were in contact stay so, but for one. The clock moves after the contacts: the queue's thread may look at any moment. */
    void pass(long ns, int silent, boolean contact) throws Exception {
        long then = clock.ns + ns;
        if (contact) epochs.forEach((b, e) -> {
            BrokerHeartbeatTracker tracker = controller.clusterControl().heartbeatManager().tracker(); BrokerIdAndEpoch key = new BrokerIdAndEpoch(b, e);
            if (b != silent && tracker.contactTime(key).isPresent()) tracker.updateContactTime(key, then);
        });
        clock.ns = then; settle();
        for (int i = 0; i < 5; i++) { clock.ns += 10_000_000L; settle(); } // a task that has more to do comes back after 10 ms
    }

    JsonNode act(ObjectNode op) throws Exception {
        switch (op.get("op").asText()) {
            case "register": {
                int b = op.get("broker").asInt();
                BrokerRegistrationRequestData r = new BrokerRegistrationRequestData().setBrokerId(b).setClusterId(op.path("cluster").asText(cluster))
                    .setIncarnationId(uuid(op.path("incarnation").asText("inc:" + b))).setRack(op.hasNonNull("rack") ? op.get("rack").asText() : null).setPreviousBrokerEpoch(ms(op, "previous_epoch", -1));
                if (op.path("previous_epoch").asText().equals("current")) { long e = epochs.getOrDefault(b, -1L); op.put("previous_epoch", e); r.setPreviousBrokerEpoch(e); }
                r.setListeners(new BrokerRegistrationRequestData.ListenerCollection(List.of(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT").setHost("host" + b).setPort(9000 + b).setSecurityProtocol((short) 0)).iterator()));
                List<Uuid> dirs = new ArrayList<>(); if (op.has("dirs")) op.get("dirs").forEach(d -> dirs.add(uuid(d.asText()))); else { op.putArray("dirs").add("dir:" + b); dirs.add(uuid("dir:" + b)); }
                r.setLogDirs(dirs);
                List<BrokerRegistrationRequestData.Feature> fs = new ArrayList<>();
                if (!op.has("features")) { ObjectNode f = op.putObject("features"); QuorumFeatures.defaultSupportedFeatureMap(false).entrySet().stream().sorted(Map.Entry.comparingByKey()).forEach(x -> f.putArray(x.getKey()).add(x.getValue().min()).add(x.getValue().max())); }
                op.get("features").fields().forEachRemaining(f -> fs.add(new BrokerRegistrationRequestData.Feature().setName(f.getKey()).setMinSupportedVersion((short) f.getValue().get(0).asInt()).setMaxSupportedVersion((short) f.getValue().get(1).asInt())));
                r.setFeatures(new BrokerRegistrationRequestData.FeatureCollection(fs.iterator()));
                ObjectNode o = JSON.createObjectNode(); o.put("brokerEpoch", get(controller.registerBroker(context((int) ms(op, "version", 4)), r)).epoch()); return o;
            }
            case "heartbeat": {
                int b = op.get("broker").asInt(); long e = epochOf(op);
                JsonNode off = op.get("offset"); long o;
                if (off == null || off.isNull() || off.asText().equals("end")) o = raft.end - 1; else if (off.asText().equals("registered")) o = registeredAt.getOrDefault(b, -1L); else if (off.asText().equals("before")) o = registeredAt.getOrDefault(b, 0L) - 1; else o = off.asLong();
                op.put("offset", o);
                List<Uuid> lost = new ArrayList<>(); op.path("offline_dirs").forEach(d -> lost.add(uuid(d.asText())));
                BrokerHeartbeatRequestData r = new BrokerHeartbeatRequestData().setBrokerId(b).setBrokerEpoch(e).setCurrentMetadataOffset(o).setWantFence(op.path("want_fence").asBoolean(false)).setWantShutDown(op.path("want_shut_down").asBoolean(false)).setOfflineLogDirs(lost);
                BrokerHeartbeatReply h = get(controller.processBrokerHeartbeat(context(1), r));
                ObjectNode a = JSON.createObjectNode(); a.put("isCaughtUp", h.isCaughtUp()); a.put("isFenced", h.isFenced()); a.put("shouldShutDown", h.shouldShutDown()); return a;
            }
            case "expire": pass((ms(set, "session_ms", 9000) + 1) * 1_000_000L, op.get("broker").asInt(), true); return JSON.nullNode();
            case "advance": pass(op.get("ms").asLong() * 1_000_000L, -1, op.path("contact").asBoolean(true)); return JSON.nullNode();
            case "unregister": get(controller.unregisterBroker(context(0), op.get("broker").asInt())); return JSON.createObjectNode();
            case "createTopics": {
                CreateTopicsRequestData r = new CreateTopicsRequestData().setValidateOnly(op.path("validate_only").asBoolean(false)); Set<String> describable = new HashSet<>();
                op.get("topics").forEach(t -> {
                    CreateTopicsRequestData.CreatableTopic c = new CreateTopicsRequestData.CreatableTopic().setName(t.get("name").asText()).setNumPartitions((int) ms(t, "partitions", -1)).setReplicationFactor((short) ms(t, "replication_factor", -1));
                    if (t.has("assignments")) { int[] i = {0}; t.get("assignments").forEach(a -> { int index = a.isObject() ? a.get("partition").asInt() : i[0]++; c.assignments().mustAdd(new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(index).setBrokerIds(ints(a.isObject() ? a.get("replicas") : a))); }); }
                    t.path("configs").fields().forEachRemaining(f -> c.configs().mustAdd(new CreateTopicsRequestData.CreatableTopicConfig().setName(f.getKey()).setValue(f.getValue().isNull() ? null : f.getValue().asText())));
                    r.topics().mustAdd(c); if (op.path("describe").asBoolean(false)) describable.add(c.name());
                });
                CreateTopicsResponseData d = get(controller.createTopics(context(7), r, describable));
                d.topics().forEach(t -> { if (!t.topicId().equals(Uuid.ZERO_UUID) && !names.containsKey(t.topicId())) names.put(t.topicId(), op.path("validate_only").asBoolean(false) ? "topic:?" : "topic:" + t.name() + (born.containsKey("t" + t.name()) ? "#" + (born.get("t" + t.name()) + 1) : "")); });
                ArrayNode a = JSON.createArrayNode();
                d.topics().forEach(t -> { ObjectNode o = a.addObject(); o.put("name", t.name()); o.put("error", Errors.forCode(t.errorCode()).name()); o.put("message", t.errorMessage()); if (t.errorCode() == 0) { o.put("topicId", t.topicId().toString()); if (describable.contains(t.name())) { o.put("numPartitions", t.numPartitions()); o.put("replicationFactor", t.replicationFactor()); ObjectNode c = o.putObject("configs"); t.configs().forEach(x -> { if (op.path("configs_shown").isArray() && !contains(op.get("configs_shown"), x.name())) return; ObjectNode v = c.putObject(x.name()); v.put("value", x.value()); v.put("source", x.configSource()); }); } } });
                return a;
            }
            case "createPartitions": {
                List<CreatePartitionsRequestData.CreatePartitionsTopic> ts = new ArrayList<>();
                op.get("topics").forEach(t -> {
                    CreatePartitionsRequestData.CreatePartitionsTopic c = new CreatePartitionsRequestData.CreatePartitionsTopic().setName(t.get("name").asText()).setCount(t.get("count").asInt()).setAssignments(null);
                    if (t.hasNonNull("assignments")) { List<CreatePartitionsRequestData.CreatePartitionsAssignment> as = new ArrayList<>(); t.get("assignments").forEach(a -> as.add(new CreatePartitionsRequestData.CreatePartitionsAssignment().setBrokerIds(ints(a)))); c.setAssignments(as); }
                    ts.add(c);
                });
                ArrayNode a = JSON.createArrayNode();
                get(controller.createPartitions(context(3), ts, op.path("validate_only").asBoolean(false))).forEach(t -> { ObjectNode o = a.addObject(); o.put("name", t.name()); o.put("error", Errors.forCode(t.errorCode()).name()); o.put("message", t.errorMessage()); });
                return a;
            }
            case "deleteTopics": {
                List<Uuid> us = new ArrayList<>(); Map<Uuid, String> back = new LinkedHashMap<>();
                op.get("topics").forEach(t -> { Uuid u = idOf(t.asText()); us.add(u); back.put(u, t.asText()); });
                Map<Uuid, ApiError> res = get(controller.deleteTopics(context(6), us));
                ArrayNode a = JSON.createArrayNode(); back.forEach((u, n) -> { ObjectNode o = apiError(res.get(u)); o.put("topic", n); a.add(o); }); return a;
            }
            case "alterPartition": {
                if (op.get("broker").isTextual()) { JsonNode t0 = op.get("topics").get(0); PartitionRegistration r0 = part(t0.get("topic").asText(), t0.get("partitions").get(0).get("partition").asInt()); op.put("broker", r0 == null ? 1 : r0.leader >= 0 ? r0.leader : r0.replicas[0]); }
                AlterPartitionRequestData r = new AlterPartitionRequestData().setBrokerId(op.get("broker").asInt()).setBrokerEpoch(epochOf(op)); int version = (int) ms(op, "version", 3); op.put("version", version);
                for (JsonNode t : op.get("topics")) {
                    AlterPartitionRequestData.TopicData td = new AlterPartitionRequestData.TopicData().setTopicId(idOf(t.get("topic").asText())); r.topics().add(td);
                    for (JsonNode pn : t.get("partitions")) {
                        ObjectNode p = (ObjectNode) pn; PartitionRegistration reg = t.get("topic").asText().startsWith("none:") ? null : part(t.get("topic").asText(), p.get("partition").asInt());
                        int le = reg == null ? 0 : reg.leaderEpoch, pe = reg == null ? 0 : reg.partitionEpoch; le += ms(p, "leader_epoch_delta", 0); pe += ms(p, "partition_epoch_delta", 0); p.remove("leader_epoch_delta"); p.remove("partition_epoch_delta");
                        if (p.has("leader_epoch")) le = p.get("leader_epoch").asInt(); if (p.has("partition_epoch")) pe = p.get("partition_epoch").asInt(); p.put("leader_epoch", le); p.put("partition_epoch", pe);
                        AlterPartitionRequestData.PartitionData pd = new AlterPartitionRequestData.PartitionData().setPartitionIndex(p.get("partition").asInt()).setLeaderEpoch(le).setPartitionEpoch(pe).setLeaderRecoveryState((byte) ms(p, "recovery", 0));
                        ArrayNode shown = JSON.createArrayNode(); List<AlterPartitionRequestData.BrokerState> bs = new ArrayList<>(); List<Integer> plain = new ArrayList<>();
                        LinkedHashSet<JsonNode> wanted = new LinkedHashSet<>(); for (JsonNode i : p.get("isr")) wanted.add(i.isTextual() ? JSON.getNodeFactory().numberNode(op.get("broker").asInt()) : i);
                        for (JsonNode i : wanted) { int id = i.isArray() ? i.get(0).asInt() : i.asInt(); long be = i.isArray() ? i.get(1).asLong() : epochs.getOrDefault(id, -1L); plain.add(id); shown.addArray().add(id).add(be); bs.add(new AlterPartitionRequestData.BrokerState().setBrokerId(id).setBrokerEpoch(be)); }
                        if (version >= 3) { pd.setNewIsrWithEpochs(bs); p.set("isr", shown); } else pd.setNewIsr(plain);
                        td.partitions().add(pd);
                    }
                }
                AlterPartitionResponseData d = get(controller.alterPartition(context(version), r)); ArrayNode a = JSON.createArrayNode();
                d.topics().forEach(t -> t.partitions().forEach(p -> { ObjectNode o = a.addObject(); o.put("topicId", t.topicId().toString()); o.put("partition", p.partitionIndex()); o.put("error", Errors.forCode(p.errorCode()).name()); if (p.errorCode() == 0) { o.put("leader", p.leaderId()); o.put("leaderEpoch", p.leaderEpoch()); o.put("partitionEpoch", p.partitionEpoch()); o.put("recovery", p.leaderRecoveryState()); ArrayNode i = o.putArray("isr"); p.isr().forEach(i::add); } }));
                return a;
            }
            case "reassign": {
                AlterPartitionReassignmentsRequestData r = new AlterPartitionReassignmentsRequestData().setAllowReplicationFactorChange(op.path("allow_rf_change").asBoolean(true));
                op.get("topics").forEach(t -> { AlterPartitionReassignmentsRequestData.ReassignableTopic rt = new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(t.get("topic").asText()); t.get("partitions").forEach(p -> rt.partitions().add(new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(p.get("partition").asInt()).setReplicas(p.hasNonNull("replicas") ? ints(p.get("replicas")) : null))); r.topics().add(rt); });
                AlterPartitionReassignmentsResponseData d = get(controller.alterPartitionReassignments(context(1), r)); ArrayNode a = JSON.createArrayNode();
                d.responses().forEach(t -> t.partitions().forEach(p -> { ObjectNode o = a.addObject(); o.put("topic", t.name()); o.put("partition", p.partitionIndex()); o.put("error", Errors.forCode(p.errorCode()).name()); o.put("message", p.errorMessage()); })); return a;
            }
            case "listReassignments": {
                ListPartitionReassignmentsRequestData r = new ListPartitionReassignmentsRequestData().setTopics(null);
                ListPartitionReassignmentsResponseData d = get(controller.listPartitionReassignments(context(0), r)); List<ObjectNode> l = new ArrayList<>();
                d.topics().forEach(t -> t.partitions().forEach(p -> { ObjectNode o = JSON.createObjectNode(); o.put("topic", t.name()); o.put("partition", p.partitionIndex()); ArrayNode x = o.putArray("replicas"); p.replicas().forEach(x::add); ArrayNode y = o.putArray("adding"); p.addingReplicas().forEach(y::add); ArrayNode z = o.putArray("removing"); p.removingReplicas().forEach(z::add); l.add(o); }));
                l.sort(Comparator.comparing((ObjectNode o) -> o.get("topic").asText()).thenComparing(o -> o.get("partition").asInt())); ArrayNode a = JSON.createArrayNode(); l.forEach(a::add); return a;
            }
            case "electLeaders": {
                ElectLeadersRequestData r = new ElectLeadersRequestData().setElectionType((byte) (op.get("type").asText().equals("preferred") ? 0 : op.get("type").asText().equals("unclean") ? 1 : 7));
                if (op.hasNonNull("partitions")) { Map<String, List<Integer>> by = new LinkedHashMap<>(); op.get("partitions").forEach(p -> by.computeIfAbsent(p.get(0).asText(), k -> new ArrayList<>()).add(p.get(1).asInt())); by.forEach((t, ps) -> r.topicPartitions().mustAdd(new ElectLeadersRequestData.TopicPartitions().setTopic(t).setPartitions(ps))); } else r.setTopicPartitions(null);
                ElectLeadersResponseData d = get(controller.electLeaders(context(2), r)); List<ObjectNode> l = new ArrayList<>();
                d.replicaElectionResults().forEach(t -> t.partitionResult().forEach(p -> { ObjectNode o = JSON.createObjectNode(); o.put("topic", t.topic()); o.put("partition", p.partitionId()); o.put("error", Errors.forCode(p.errorCode()).name()); o.put("message", p.errorMessage()); l.add(o); }));
                l.sort(Comparator.comparing((ObjectNode o) -> o.get("topic").asText()).thenComparing(o -> o.get("partition").asInt())); ArrayNode a = JSON.createArrayNode(); l.forEach(a::add); return a;
            }
            case "alterConfigs": case "legacyAlterConfigs": {
                boolean legacy = op.get("op").asText().startsWith("legacy"); Map<ConfigResource, Map<String, Map.Entry<OpType, String>>> inc = new LinkedHashMap<>(); Map<ConfigResource, Map<String, String>> old = new LinkedHashMap<>();
                op.get("resources").forEach(x -> {
                    ConfigResource cr = new ConfigResource(ConfigResource.Type.valueOf(x.get("type").asText().toUpperCase(Locale.ROOT)), x.get("name").asText());
                    if (legacy) { Map<String, String> m = new TreeMap<>(); x.get("configs").fields().forEachRemaining(f -> m.put(f.getKey(), f.getValue().isNull() ? null : f.getValue().asText())); old.put(cr, m); }
                    else { Map<String, Map.Entry<OpType, String>> m = new TreeMap<>(); x.get("ops").forEach(c -> m.put(c.get(0).asText(), new SimpleImmutableEntry<>(OpType.valueOf(c.get(1).asText().toUpperCase(Locale.ROOT)), c.get(2).isNull() ? null : c.get(2).asText()))); inc.put(cr, m); }
                });
                Map<ConfigResource, ApiError> res = legacy ? get(controller.legacyAlterConfigs(context(1), old, op.path("validate_only").asBoolean(false))) : get(controller.incrementalAlterConfigs(context(1), inc, op.path("validate_only").asBoolean(false)));
                ArrayNode a = JSON.createArrayNode(); (legacy ? old.keySet() : inc.keySet()).forEach(k -> { ObjectNode o = apiError(res.get(k)); o.put("type", k.type().name().toLowerCase(Locale.ROOT)); o.put("name", k.name()); a.add(o); }); return a;
            }
            case "allocateProducerIds": {
                AllocateProducerIdsResponseData d = get(controller.allocateProducerIds(context(0), new AllocateProducerIdsRequestData().setBrokerId(op.get("broker").asInt()).setBrokerEpoch(epochOf(op))));
                ObjectNode o = JSON.createObjectNode(); o.put("start", d.producerIdStart()); o.put("length", d.producerIdLen()); return o;
            }
            case "assignDirs": {
                AssignReplicasToDirsRequestData r = new AssignReplicasToDirsRequestData().setBrokerId(op.get("broker").asInt()).setBrokerEpoch(epochOf(op));
                op.get("dirs").forEach(d -> { AssignReplicasToDirsRequestData.DirectoryData dd = new AssignReplicasToDirsRequestData.DirectoryData().setId(uuid(d.get("dir").asText())); d.get("topics").forEach(t -> { AssignReplicasToDirsRequestData.TopicData td = new AssignReplicasToDirsRequestData.TopicData().setTopicId(idOf(t.get("topic").asText())); ints(t.get("partitions")).forEach(p -> td.partitions().add(new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(p))); dd.topics().add(td); }); r.directories().add(dd); });
                AssignReplicasToDirsResponseData d = get(controller.assignReplicasToDirs(context(0), r)); ArrayNode a = JSON.createArrayNode();
                d.directories().forEach(x -> x.topics().forEach(t -> t.partitions().forEach(p -> { ObjectNode o = a.addObject(); o.put("dir", x.id().toString()); o.put("topicId", t.topicId().toString()); o.put("partition", p.partitionIndex()); o.put("error", Errors.forCode(p.errorCode()).name()); }))); return a;
            }
            case "updateFeatures": {
                UpdateFeaturesRequestData r = new UpdateFeaturesRequestData().setValidateOnly(op.path("validate_only").asBoolean(false));
                op.get("updates").forEach(u -> r.featureUpdates().mustAdd(new UpdateFeaturesRequestData.FeatureUpdateKey().setFeature(u.get(0).asText()).setMaxVersionLevel((short) u.get(1).asInt()).setUpgradeType(FeatureUpdate.UpgradeType.valueOf(u.get(2).asText().toUpperCase(Locale.ROOT)).code())));
                UpdateFeaturesResponseData d = get(controller.updateFeatures(context(2), r)); ObjectNode o = JSON.createObjectNode(); o.put("error", Errors.forCode(d.errorCode()).name()); o.put("message", d.errorMessage()); return o;
            }
            case "registerController": {
                int c = op.get("controller").asInt(); ControllerRegistrationRequestData r = new ControllerRegistrationRequestData().setControllerId(c).setIncarnationId(uuid("inc:c" + c));
                r.listeners().mustAdd(new ControllerRegistrationRequestData.Listener().setName("CONTROLLER").setHost("host" + c).setPort(9093).setSecurityProtocol((short) 0));
                op.path("features").fields().forEachRemaining(f -> r.features().mustAdd(new ControllerRegistrationRequestData.Feature().setName(f.getKey()).setMinSupportedVersion((short) f.getValue().get(0).asInt()).setMaxSupportedVersion((short) f.getValue().get(1).asInt())));
                get(controller.registerController(context(0), r)); return JSON.createObjectNode();
            }
            case "alterQuotas": {
                List<ClientQuotaAlteration> as = new ArrayList<>();
                op.get("entries").forEach(e -> { Map<String, String> m = new LinkedHashMap<>(); e.get("entity").fields().forEachRemaining(f -> m.put(f.getKey(), f.getValue().isNull() ? null : f.getValue().asText())); List<ClientQuotaAlteration.Op> ops = new ArrayList<>(); e.get("ops").forEach(o -> ops.add(new ClientQuotaAlteration.Op(o.get(0).asText(), o.get(1).isNull() ? null : o.get(1).asDouble()))); as.add(new ClientQuotaAlteration(new ClientQuotaEntity(m), ops)); });
                Map<ClientQuotaEntity, ApiError> res = get(controller.alterClientQuotas(context(1), as, op.path("validate_only").asBoolean(false))); ArrayNode a = JSON.createArrayNode();
                as.forEach(x -> { ObjectNode o = apiError(res.get(x.entity())); o.set("entity", JSON.valueToTree(new TreeMap<>(x.entity().entries()))); a.add(o); }); return a;
            }
            case "alterScram": {
                AlterUserScramCredentialsRequestData r = new AlterUserScramCredentialsRequestData();
                op.path("upsert").forEach(u -> r.upsertions().add(new AlterUserScramCredentialsRequestData.ScramCredentialUpsertion().setName(u.get(0).asText()).setMechanism((byte) u.get(1).asInt()).setIterations(u.get(2).asInt()).setSalt("salt".getBytes()).setSaltedPassword("0123456789abcdef0123456789abcdef".getBytes())));
                op.path("delete").forEach(u -> r.deletions().add(new AlterUserScramCredentialsRequestData.ScramCredentialDeletion().setName(u.get(0).asText()).setMechanism((byte) u.get(1).asInt())));
                AlterUserScramCredentialsResponseData d = get(controller.alterUserScramCredentials(context(0), r)); List<ObjectNode> l = new ArrayList<>();
                d.results().forEach(x -> { ObjectNode o = JSON.createObjectNode(); o.put("user", x.user()); o.put("error", Errors.forCode(x.errorCode()).name()); o.put("message", x.errorMessage()); l.add(o); }); l.sort(Comparator.comparing(o -> o.get("user").asText())); ArrayNode a = JSON.createArrayNode(); l.forEach(a::add); return a;
            }
            case "createAcls": {
                List<AclBinding> bs = new ArrayList<>(); op.get("acls").forEach(x -> bs.add(binding(x)));
                ArrayNode a = JSON.createArrayNode(); get(controller.createAcls(context(3), bs)).forEach(x -> a.add(x.exception().isPresent() ? error(x.exception().get()) : apiError(ApiError.NONE))); return a;
            }
            case "deleteAcls": {
                List<AclBindingFilter> fs = new ArrayList<>();
                op.get("filters").forEach(x -> fs.add(new AclBindingFilter(new ResourcePatternFilter(ResourceType.fromString(x.path("resource").asText("ANY")), x.hasNonNull("name") ? x.get("name").asText() : null, PatternType.fromString(x.path("pattern").asText("ANY"))), new AccessControlEntryFilter(x.hasNonNull("principal") ? x.get("principal").asText() : null, null, AclOperation.fromString(x.path("operation").asText("ANY")), AclPermissionType.fromString(x.path("permission").asText("ANY"))))));
                ArrayNode a = JSON.createArrayNode(); get(controller.deleteAcls(context(3), fs)).forEach(x -> { ObjectNode o = a.addObject(); o.put("error", x.exception().isPresent() ? Errors.forException(x.exception().get()).name() : "NONE"); ArrayNode l = o.putArray("deleted"); List<String> s = new ArrayList<>(); x.aclBindingDeleteResults().forEach(y -> s.add(y.aclBinding().pattern().resourceType() + ":" + y.aclBinding().pattern().patternType() + ":" + y.aclBinding().pattern().name() + ":" + y.aclBinding().entry().principal() + ":" + y.aclBinding().entry().operation() + ":" + y.aclBinding().entry().permissionType())); Collections.sort(s); s.forEach(l::add); }); return a;
            }
            case "hold": raft.hold = true; return JSON.nullNode();
            case "failover": {
                synchronized (raft) { for (Entry e : raft.log) if (e.offset() >= raft.committed && e.record().message() instanceof TopicRecord t) { born.merge("t" + t.name(), -1, Integer::sum); names.remove(t.topicId()); } }
                int before = raft.log.size(); raft.lose(raft.epoch + 1); settle(); int dropped = before - raft.log.size();
                if (dropped > 0) { image = MetadataImage.EMPTY; seen = 0; born.clear(); fresh(); }
                raft.lead(raft.epoch + 1); settle(); ObjectNode o = JSON.createObjectNode(); o.put("lost", dropped); return o;
            }
            case "describe": {
                ObjectNode o = JSON.createObjectNode(); op.get("partitions").forEach(p -> { PartitionRegistration r = part(p.get(0).asText(), p.get(1).asInt()); ObjectNode x = o.putObject(p.get(0).asText() + "-" + p.get(1).asInt()); put(x, "replicas", r.replicas); put(x, "isr", r.isr); int[] elr = r.elr.clone(); Arrays.sort(elr); put(x, "elr", elr); put(x, "lastKnownElr", r.lastKnownElr); put(x, "adding", r.addingReplicas); put(x, "removing", r.removingReplicas); x.put("leader", r.leader); x.put("leaderEpoch", r.leaderEpoch); x.put("partitionEpoch", r.partitionEpoch); x.put("recovering", r.leaderRecoveryState.value() == 1); ArrayNode d = x.putArray("directories"); for (Uuid u : r.directories) d.add(u.toString()); });
                return o;
            }
            default: throw new IllegalArgumentException("unknown op " + op);
        }
    }
    static boolean contains(JsonNode list, String s) { for (JsonNode x : list) if (x.asText().equals(s)) return true; return false; }
    static void put(ObjectNode o, String k, int[] v) { ArrayNode a = o.putArray(k); for (int i : v) a.add(i); }
    static AclBinding binding(JsonNode x) {
        return new AclBinding(new ResourcePattern(ResourceType.fromString(x.path("resource").asText("TOPIC")), x.path("name").asText("a"), PatternType.fromString(x.path("pattern").asText("LITERAL"))),
            new AccessControlEntry(x.path("principal").asText("User:a"), x.path("host").asText("*"), AclOperation.fromString(x.path("operation").asText("READ")), AclPermissionType.fromString(x.path("permission").asText("ALLOW"))));
    }

    ObjectNode play(ObjectNode scenario) throws Exception {
        ObjectNode out = JSON.createObjectNode(); out.set("id", scenario.get("id")); out.set("family", scenario.get("family")); if (scenario.has("about")) out.set("about", scenario.get("about")); out.set("settings", set);
        name("dir:MIGRATING", org.apache.kafka.common.DirectoryId.MIGRATING); name("dir:UNASSIGNED", org.apache.kafka.common.DirectoryId.UNASSIGNED); name("dir:LOST", org.apache.kafka.common.DirectoryId.LOST);
        raft.lead(1); settle(); ArrayNode steps = out.putArray("steps");
        ObjectNode first = steps.addObject(); first.putObject("request").put("op", "activate"); first.set("response", JSON.nullNode()); first.set("records", fresh()); first.put("end", raft.end);
        for (JsonNode s : scenario.get("steps")) {
            ObjectNode op = (ObjectNode) s.deepCopy(); ObjectNode step = JSON.createObjectNode(); boolean quiet = op.path("quiet").asBoolean(false); op.remove("quiet");
            JsonNode answer;
            if (raft.hold && !op.get("op").asText().equals("failover")) { // answers wait for the commit: start it, do not wait
                CompletableFuture<JsonNode> f = new CompletableFuture<>(); Thread t = new Thread(() -> { try { f.complete(perform(op)); } catch (Throwable e) { f.completeExceptionally(e); } }); t.setDaemon(true); t.start();
                Thread.sleep(150); settle(); pending.put(steps.size(), f); answer = new TextNode("pending");
            } else answer = perform(op);
            settle(); step.set("request", op); step.set("response", answer); step.set("records", fresh()); step.put("end", raft.end); steps.add(step);
            if (op.get("op").asText().equals("failover")) pending.forEach((i, f) -> { try { ((ObjectNode) steps.get(i)).set("response", f.get(5, TimeUnit.SECONDS)); } catch (Exception e) { ((ObjectNode) steps.get(i)).set("response", error(e)); } });
        }
        if (scenario.path("snapshot").asBoolean(true)) out.set("snapshot", snapshot());
        if (!faults.isEmpty()) { ArrayNode f = out.putArray("faults"); faults.forEach(f::add); }
        controller.beginShutdown(); controller.close();
        return out;
    }
    final Map<Integer, CompletableFuture<JsonNode>> pending = new LinkedHashMap<>();

    /** Kafka's own config schema and validator. */
    static void prepare() {
        Properties p = new Properties(); p.put("process.roles", "controller"); p.put("node.id", "3000"); p.put("controller.quorum.voters", "3000@localhost:9093"); p.put("listeners", "CONTROLLER://localhost:9093"); p.put("controller.listener.names", "CONTROLLER"); p.put("log.dirs", "unused");
        kafka.server.KafkaConfig config = new kafka.server.KafkaConfig(p, false);
        SCHEMA = kafka.server.KafkaRaftServer.configSchema(); VALIDATOR = new kafka.server.ControllerConfigurationValidator(config);
    }

    public static void main(String[] args) throws Exception {
        prepare();
        JsonNode in = JSON.readTree(new File(args[0])); ArrayNode out = JSON.createArrayNode(); int bad = 0;
        for (JsonNode s : in.get("cases")) {
            JsonNode settings = s.has("settings") ? s.get("settings") : JSON.createObjectNode();
            KraftOracle one = new KraftOracle(settings);
            try { out.add(one.play((ObjectNode) s)); }
            catch (Throwable t) {
                bad++; ObjectNode failed = out.addObject(); failed.set("id", s.get("id")); failed.put("failed", t.toString());
                ArrayNode f = failed.putArray("faults"); one.faults.forEach(f::add);
            }
        }
        ObjectNode top = JSON.createObjectNode(); top.put("kafka", "4.1.0"); top.set("cases", out);
        JSON.writeValue(new File(args[1]), top);
        System.err.println(out.size() + " cases, " + bad + " failed"); System.exit(bad == 0 ? 0 : 1);
    }
}
