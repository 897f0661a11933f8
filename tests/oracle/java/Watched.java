import java.lang.reflect.Field;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import kafka.cluster.Broker;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.ControllerEvent;
import kafka.controller.ControllerState;
import kafka.controller.KafkaController;
import kafka.controller.MockEvent;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaConfig;
import kafka.server.metadata.ZkFinalizedFeatureCache;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.FinalizedFeatures;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.Option;

/** Kafka's controller on a session of its own, with a recorder for a network. */
final class Watched extends KafkaController {
    private static final long PATIENCE_S = 30;
    private static final long EVENTS_MAX = 500; // many more than any step can cause

    private final KafkaZkClient session;
    private final AtomicLong processed = new AtomicLong();
    final Queue<String> accidents = new ConcurrentLinkedQueue<>();

    static Watched start(int me, Properties given, Recorder brokers) throws Exception {
        given.put("broker.id", String.valueOf(me));
        KafkaConfig config = KafkaConfig.fromProps(given, false);
        KafkaZkClient session =
            KafkaZkClient.createZkClient("oracle", Time.SYSTEM, config, new ZKClientConfig());
        Watched controller = new Watched(me, config, session);
        controller.connect(brokers);
        controller.startup();
        return controller;
    }

    private Watched(int me, KafkaConfig config, KafkaZkClient session) {
        super(
            config, session, Time.SYSTEM, new Metrics(),
            BrokerInfo.apply(self(me), MetadataVersion.latestProduction(), -1), 1L, null,
            BrokerFeatures.createEmpty(), new NoFeatureCache(), Option.empty());
        this.session = session;
    }

    private static Broker self(int me) {
        return new Broker(
            me, "127.0.0.1", 9092,
            ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT),
            SecurityProtocol.PLAINTEXT);
    }

    /** Stop, and end the session with everything ephemeral in it. */
    void stop() {
        shutdown();
        session.close();
    }

    // ---- the network -------------------------------------------------------------------------

    private void connect(Recorder brokers) throws Exception {
        controllerChannelManager_$eq(brokers);
        connect(field(this, KafkaController.class, "brokerRequestBatch"), brokers);
        for (Object machine : new Object[] {replicaStateMachine(), partitionStateMachine()}) {
            connect(field(machine, machine.getClass(), "controllerBrokerRequestBatch"), brokers);
        }
    }

    private static void connect(Object batch, Recorder brokers) throws Exception {
        Field channels =
            ControllerBrokerRequestBatch.class.getDeclaredField("controllerChannelManager");
        channels.setAccessible(true);
        channels.set(batch, brokers);
    }

    private static Object field(Object owner, Class<?> type, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }

    // ---- waiting -----------------------------------------------------------------------------

    @Override
    public void process(ControllerEvent event) {
        Accidents.HERE.set(accidents);
        super.process(event);
        if (!(event instanceof Aside)) {
            processed.incrementAndGet();
        }
    }

    /**
     * Wait until nothing is left to do. Notices come in order on the controller's session, so after
     * the answer to a read all earlier ones are queued; answers of brokers are queued while the
     * asking event runs. Quiet is a round of both in which no event was processed.
     */
    void settle() throws InterruptedException {
        long start = processed.get();
        long before = -1;
        while (before != processed.get() || !eventManager().isEmpty()) {
            before = processed.get();
            if (before - start > EVENTS_MAX) {
                throw new IllegalStateException("the controller never comes to rest");
            }
            session.pathExists("/marker");
            aside(() -> { });
        }
    }

    /** Run something between two events, on the controller's own thread. */
    void aside(Runnable work) throws InterruptedException {
        Aside event = new Aside(work);
        eventManager().put(event);
        if (!event.reached.await(PATIENCE_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the controller does not get on");
        }
    }

    private static final class Aside extends MockEvent {
        final CountDownLatch reached = new CountDownLatch(1);
        private final Runnable work;

        Aside(Runnable work) {
            super(ControllerState.Idle$.MODULE$);
            this.work = work;
        }

        @Override
        public void process() {
            try {
                work.run();
            } finally {
                reached.countDown();
            }
        }

        @Override
        public void preempt() {
            reached.countDown();
        }
    }

    /** Nobody serves clients here, so nobody has to wait until features are known. */
    private static final class NoFeatureCache implements ZkFinalizedFeatureCache {
        @Override
        public void waitUntilFeatureEpochOrThrow(long epoch, long timeoutMs) {
        }

        @Override
        public Option<FinalizedFeatures> getFeatureOption() {
            return Option.empty();
        }
    }
}
