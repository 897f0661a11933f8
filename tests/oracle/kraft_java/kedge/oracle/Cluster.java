package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import kafka.server.ControllerConfigurationValidator;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.controller.ConfigurationValidator;
import org.apache.kafka.controller.Contacts;
import org.apache.kafka.controller.ControllerRequestContext;
import org.apache.kafka.controller.QuorumController;
import org.apache.kafka.controller.QuorumFeatures;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.server.common.MetadataVersion;

/** Kafka's controller with all that it needs around it, set up as a scenario says. */
final class Cluster implements AutoCloseable {
    static final String ID = "kraft-oracle-cluster-0";
    static final int NODE = 3000;

    /** How long the controller may take, by the real clock, before it counts as stuck. */
    static final long PATIENCE_SECONDS = 20;

    /** For the periodic tasks that no scenario is about. */
    private static final long NEVER_MS = Duration.ofDays(10_000).toMillis();

    /** A periodic task that could not do all in one go continues after this time. */
    private static final Duration CONTINUATION = Duration.ofMillis(10);
    private static final int CONTINUATIONS = 5;

    /** How often the log's end must be the same before it counts as final. */
    private static final int CALM_LOOKS = 3;

    private static final ConfigurationValidator VALIDATOR = validator();

    final Labels labels = new Labels();
    final List<String> faults = new CopyOnWriteArrayList<>();
    final SoloLog log;
    final View view;
    final QuorumController controller;
    private final HandClock clock = new HandClock();
    private final Duration session;

    Cluster(JsonNode settings) throws Exception {
        log = new SoloLog(NODE, clock);
        view = new View(log, labels);
        session = Duration.ofMillis(Fields.integer(settings, "session_ms", 9_000));
        controller = build(settings);
    }

    private QuorumController build(JsonNode settings) throws Exception {
        QuorumController.Builder builder = new QuorumController.Builder(NODE, ID);
        builder.setTime(clock).setRaftClient(log);
        builder.setFatalFaultHandler(this::keep).setNonFatalFaultHandler(this::keep);
        builder.setConfigSchema(KafkaRaftServer.configSchema());
        builder.setConfigurationValidator(VALIDATOR);
        builder.setStaticConfig(new HashMap<>(
            Fields.entries(settings.path("static"), JsonNode::asText)));
        builder.setQuorumFeatures(new QuorumFeatures(
            NODE, QuorumFeatures.defaultSupportedFeatureMap(false), List.of(NODE)));
        builder.setBootstrapMetadata(BootstrapMetadata.fromVersions(
            MetadataVersion.fromVersionString(
                settings.path("metadata_version").asText("4.1-IV1")),
            Fields.entries(settings.path("features"), level -> (short) level.asInt()),
            "the scenario's settings"));
        builder.setDefaultNumPartitions(Fields.integer(settings, "default_partitions", 1));
        builder.setDefaultReplicationFactor(
            (short) Fields.integer(settings, "default_replication_factor", 3));
        builder.setReplicaPlacer(new StripedReplicaPlacer(
            new SameDraw(Fields.integer(settings, "draw", 0))));
        schedule(builder, settings);
        return builder.build();
    }

    private void schedule(QuorumController.Builder builder, JsonNode settings) {
        builder.setSessionTimeoutNs(session.toNanos());
        builder.setLeaderImbalanceCheckIntervalNs(nanos(settings.path("preferred_ms")));
        builder.setMaxIdleIntervalNs(nanos(settings.path("idle_ms")));
        builder.setUncleanLeaderElectionCheckIntervalMs(
            settings.path("unclean_ms").asLong(NEVER_MS));
        builder.setDelegationTokenExpiryCheckIntervalMs(NEVER_MS);
        builder.setControllerPerformanceSamplePeriodMs(NEVER_MS);
        builder.setControllerPerformanceAlwaysLogThresholdMs(NEVER_MS);
    }

    /** A period that may be left out, which turns its task off. */
    private static OptionalLong nanos(JsonNode millis) {
        return millis.isNumber()
            ? OptionalLong.of(Duration.ofMillis(millis.asLong()).toNanos())
            : OptionalLong.empty();
    }

    private static ConfigurationValidator validator() {
        return new ControllerConfigurationValidator(new KafkaConfig(Map.of(
            "process.roles", "controller",
            "node.id", NODE,
            "controller.listener.names", "CONTROLLER",
            "listeners", "CONTROLLER://127.0.0.1:9093",
            "controller.quorum.voters", NODE + "@127.0.0.1:9093",
            "log.dirs", "never-written"), false));
    }

    private RuntimeException keep(String message, Throwable cause) {
        faults.add(cause == null ? message : message + ": " + cause);
        return new RuntimeException(message, cause);
    }

    /**
     * A draw that is always the same. Kafka draws once per rack, and walks the racks as a hash
     * table has them: with a sequence of draws the outcome would depend on that.
     */
    private static final class SameDraw extends Random {
        private final int number;

        SameDraw(int number) {
            this.number = number;
        }

        @Override
        public int nextInt(int bound) {
            return number % bound;
        }
    }

    // ---- requests ----------------------------------------------------------------------------

    /** Who asks, with the newest version of a request. */
    ControllerRequestContext asking(ApiKeys api) {
        return asking(api.latestVersion());
    }

    ControllerRequestContext asking(int version) {
        RequestHeaderData header = new RequestHeaderData()
            .setClientId("kedge-oracle").setRequestApiVersion((short) version);
        return new ControllerRequestContext(
            header, new KafkaPrincipal(KafkaPrincipal.USER_TYPE, "kedge"), OptionalLong.empty());
    }

    // ---- time and elections ------------------------------------------------------------------

    /** Time passes, and every broker stays in contact. */
    void pass(Duration span) throws Exception {
        passWithout(-1, span);
    }

    /** A broker is silent for longer than a session lasts. */
    void silence(int broker) throws Exception {
        passWithout(broker, session.plusMillis(1));
    }

    private void passWithout(int silent, Duration span) throws Exception {
        long then = clock.nanosAfter(span);
        // contacts come first: the controller's thread may look at the clock as soon as it moves,
        // and would then take every broker for a silent one
        for (int broker : view.brokers()) {
            if (broker != silent) {
                Contacts.renew(controller, broker, view.epochOf(broker, -1), then);
            }
        }
        moveTo(then);
    }

    /** Time passes, and no broker is heard of. */
    void passInSilence(Duration span) throws Exception {
        moveTo(clock.nanosAfter(span));
    }

    private void moveTo(long then) throws Exception {
        clock.moveTo(then);
        settle();
        for (int count = 0; count < CONTINUATIONS; count++) {
            clock.moveTo(clock.nanosAfter(CONTINUATION));
            settle();
        }
    }

    /** Waits until the controller has nothing more to do at this time. */
    void settle() throws Exception {
        long end = log.logEndOffset();
        int calm = 0;
        while (calm < CALM_LOOKS) {
            // its queue is worked off in order: an answer means that all before it is done
            controller.findTopicIds(asking(ApiKeys.METADATA), List.of("any"))
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            calm = log.logEndOffset() == end ? calm + 1 : 0;
            end = log.logEndOffset();
        }
    }

    /** Another node leads for one term, then this one again. Returns the count of lost records. */
    int failOver() throws Exception {
        int lost = log.lose();
        settle();
        view.startAgain();
        log.win();
        settle();
        return lost;
    }

    @Override
    public void close() throws Exception {
        controller.beginShutdown();
        controller.close();
    }
}
