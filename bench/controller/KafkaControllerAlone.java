import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import kafka.cluster.Broker;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.ControllerChannelManager;
import kafka.controller.ControllerState;
import kafka.controller.KafkaController;
import kafka.controller.MockEvent;
import kafka.controller.StateChangeLogger;
import kafka.server.BrokerFeatures;
import kafka.server.KafkaConfig;
import kafka.server.metadata.ZkFinalizedFeatureCache;
import kafka.zk.BrokerInfo;
import kafka.zk.KafkaZkClient;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrTopicState;
import org.apache.kafka.common.message.LeaderAndIsrResponseData;
import org.apache.kafka.common.message.LeaderAndIsrResponseData.LeaderAndIsrPartitionError;
import org.apache.kafka.common.message.LeaderAndIsrResponseData.LeaderAndIsrTopicError;
import org.apache.kafka.common.message.StopReplicaResponseData;
import org.apache.kafka.common.message.StopReplicaResponseData.StopReplicaPartitionError;
import org.apache.kafka.common.message.UpdateMetadataResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.LeaderAndIsrResponse;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.StopReplicaResponse;
import org.apache.kafka.common.requests.UpdateMetadataResponse;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.FinalizedFeatures;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.zookeeper.client.ZKClientConfig;
import scala.Function0;
import scala.Function1;
import scala.Option;
import scala.runtime.BoxedUnit;

/**
 * Kafka's own controller with nothing around it: no log, no sockets, no broker. It runs against the
 * ZooKeeper named on the command line, and its brokers answer every request with success, at once
 * and on another thread. Requests are handed over as the controller builds them: neither encoding
 * nor sending is part of what is measured.
 *
 * Lines read, and the lines that answer them (times are milliseconds of the system's clock):
 *   start    a new session and a new controller, which claims the role:
 *            "started", failover done at, idle at, replicas told by LeaderAndIsr
 *   told N   wait until LeaderAndIsr told N replicas since the last such answer:
 *            "told", last request handed over at, idle at, replicas told
 *   stop     end controller and session: "stopped"
 *   quit     end the process
 *
 * Options after the address: name=value for Kafka's configuration.
 */
public final class KafkaControllerAlone {
    private static final int ME = 1000;

    private final KafkaConfig config;
    private final Answering brokers;
    private KafkaZkClient zookeeper;
    private KafkaController controller;

    private KafkaControllerAlone(String address, String[] options) {
        Properties given = new Properties();
        given.put("zookeeper.connect", address);
        given.put("broker.id", String.valueOf(ME));
        given.put("listeners", "PLAINTEXT://127.0.0.1:9092");
        given.put("auto.leader.rebalance.enable", "false");
        for (String option : options) {
            int equals = option.indexOf('=');
            given.put(option.substring(0, equals), option.substring(equals + 1));
        }
        config = KafkaConfig.fromProps(given, false);
        brokers = new Answering(config);
    }

    public static void main(String[] args) throws Exception {
        // without a configuration log4j formats everything and shows nothing
        Logger.getRootLogger().setLevel(Level.WARN);
        Logger.getRootLogger().addAppender(
            new org.apache.log4j.ConsoleAppender(new org.apache.log4j.SimpleLayout(), "System.err"));
        String[] options = java.util.Arrays.copyOfRange(args, 1, args.length);
        KafkaControllerAlone alone = new KafkaControllerAlone(args[0], options);
        System.out.println("ready");
        int status = 1; // the controller's threads would outlive an exception of ours
        try (var lines = new BufferedReader(new InputStreamReader(System.in))) {
            String line = lines.readLine();
            for (; line != null && !line.equals("quit"); line = lines.readLine()) {
                System.out.println(alone.obey(line.split(" ")));
            }
            status = 0;
        } finally {
            System.exit(status);
        }
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "start":
                return start();
            case "told":
                brokers.await(Integer.parseInt(words[1]));
                long idle = awaitIdle();
                return "told " + brokers.lastHandedOver + " " + idle + " " + brokers.forget();
            case "stop":
                controller.shutdown();
                zookeeper.close();
                return "stopped";
            default:
                return "unknown " + words[0];
        }
    }

    // ---- the controller ----------------------------------------------------------------------

    private String start() throws Exception {
        zookeeper = KafkaZkClient.createZkClient(
            "bench", Time.SYSTEM, config, new ZKClientConfig());
        Broker self = new Broker(
            ME, "127.0.0.1", 9092,
            ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT),
            SecurityProtocol.PLAINTEXT);
        controller = new KafkaController(
            config, zookeeper, Time.SYSTEM, new Metrics(),
            BrokerInfo.apply(self, MetadataVersion.latestProduction(), -1), 1L, null,
            BrokerFeatures.createEmpty(), new NoFeatureCache(), Option.empty());
        connect(controller);
        brokers.forget();
        controller.startup();
        long done = awaitMarker();
        if (!controller.isActive()) {
            throw new IllegalStateException("the role was not won, or lost at once");
        }
        long idle = awaitIdle();
        return "started " + done + " " + idle + " " + brokers.forget();
    }

    /** Give the controller, and all in it that send requests, our brokers instead of the network. */
    private void connect(KafkaController controller) throws Exception {
        controller.controllerChannelManager_$eq(brokers);
        connect(field(controller, KafkaController.class, "brokerRequestBatch"));
        for (Object machine : new Object[] {
            controller.replicaStateMachine(), controller.partitionStateMachine()}) {
            connect(field(machine, machine.getClass(), "controllerBrokerRequestBatch"));
        }
    }

    private void connect(Object batch) throws Exception {
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

    /** When everything has been processed that was queued before. */
    private long awaitMarker() throws InterruptedException {
        Marker marker = new Marker();
        controller.eventManager().put(marker);
        marker.reached.await();
        return marker.at;
    }

    /** When nothing is queued and no broker owes an answer. */
    private long awaitIdle() throws InterruptedException {
        while (true) {
            boolean answered = brokers.owed.get() == 0;
            long at = awaitMarker();
            if (answered && brokers.owed.get() == 0 && controller.eventManager().isEmpty()) {
                return at;
            }
        }
    }

    private static final class Marker extends MockEvent {
        final CountDownLatch reached = new CountDownLatch(1);
        volatile long at;

        Marker() {
            super(ControllerState.Idle$.MODULE$);
        }

        @Override
        public void process() {
            at = System.currentTimeMillis();
            reached.countDown();
        }

        @Override
        public void preempt() {
            process();
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

    // ---- the brokers -------------------------------------------------------------------------

    private static final class Answering extends ControllerChannelManager {
        final AtomicInteger owed = new AtomicInteger();
        volatile long lastHandedOver;
        private final ExecutorService answers = Executors.newSingleThreadExecutor(work -> {
            Thread thread = new Thread(work, "answers");
            thread.setDaemon(true);
            return thread;
        });
        private int told; // guarded by this

        Answering(KafkaConfig config) {
            super(
                (Function0<Object>) () -> 0, config, Time.SYSTEM, new Metrics(),
                new StateChangeLogger(ME, true, Option.empty()), Option.empty());
        }

        @Override
        public void startup(scala.collection.Set<Broker> brokers) {
        }

        @Override
        public void shutdown() {
        }

        @Override
        public void addBroker(Broker broker) {
        }

        @Override
        public void removeBroker(int broker) {
        }

        @Override
        public void sendRequest(
            int broker,
            AbstractControlRequest.Builder<? extends AbstractControlRequest> request,
            Function1<AbstractResponse, BoxedUnit> callback) {
            lastHandedOver = System.currentTimeMillis();
            owed.incrementAndGet();
            answers.execute(() -> {
                AbstractResponse answer = answer(request.build());
                if (callback != null) {
                    callback.apply(answer);
                }
                owed.decrementAndGet();
            });
        }

        private AbstractResponse answer(AbstractControlRequest request) {
            if (request instanceof LeaderAndIsrRequest asked) {
                return leaderAndIsr(asked);
            }
            return request instanceof StopReplicaRequest asked
                ? stopReplica(asked)
                : new UpdateMetadataResponse(new UpdateMetadataResponseData());
        }

        private AbstractResponse leaderAndIsr(LeaderAndIsrRequest asked) {
            LeaderAndIsrResponseData data = new LeaderAndIsrResponseData();
            int count = 0;
            for (LeaderAndIsrTopicState topic : asked.data().topicStates()) {
                LeaderAndIsrTopicError errors = new LeaderAndIsrTopicError();
                errors.setTopicId(topic.topicId());
                for (var state : topic.partitionStates()) {
                    errors.partitionErrors().add(
                        new LeaderAndIsrPartitionError().setPartitionIndex(state.partitionIndex()));
                    count++;
                }
                data.topics().add(errors);
            }
            tell(count);
            return new LeaderAndIsrResponse(data, asked.version());
        }

        private AbstractResponse stopReplica(StopReplicaRequest asked) {
            StopReplicaResponseData data = new StopReplicaResponseData();
            asked.partitionStates().keySet().forEach(tp -> data.partitionErrors().add(
                new StopReplicaPartitionError()
                    .setTopicName(tp.topic())
                    .setPartitionIndex(tp.partition())));
            return new StopReplicaResponse(data);
        }

        private synchronized void tell(int replicas) {
            told += replicas;
            notifyAll();
        }

        synchronized void await(int replicas) throws InterruptedException {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
            while (told < replicas && System.nanoTime() < deadline) {
                wait(1000);
            }
        }

        synchronized int forget() {
            int replicas = told;
            told = 0;
            return replicas;
        }
    }
}
