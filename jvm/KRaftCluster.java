import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.Reader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Some KRaft nodes in one JVM, formatted first.
 *
 * Arguments: the id of the cluster, then one properties file per node. Says READY when all nodes
 * are up, then takes lines: "stop 2", "start 2".
 */
public class KRaftCluster {
    private static final Map<Integer, Properties> CONFIGS = new ConcurrentHashMap<>();
    private static final Map<Integer, KafkaRaftServer> RUNNING = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        List<Thread> starting = new ArrayList<>();
        for (int i = 1; i < arguments.length; i++) {
            Properties config = new Properties();
            try (Reader reader = new FileReader(arguments[i])) {
                config.load(reader);
            }
            int id = Integer.parseInt(config.getProperty("node.id"));
            CONFIGS.put(id, config);
            format(arguments[0], id, config.getProperty("log.dirs").split(","));
            Thread thread = new Thread(() -> start(id));
            thread.start();
            starting.add(thread);
        }
        for (Thread thread : starting) {
            thread.join();
        }
        say("READY " + RUNNING.keySet());
        obey();
        Runtime.getRuntime().halt(0);
    }

    private static void format(String cluster, int id, String[] directories) throws Exception {
        Set<String> all = new HashSet<>(Arrays.asList(directories));
        new Formatter()
            .setPrintStream(new PrintStream(OutputStream.nullOutputStream()))
            .setNodeId(id)
            .setClusterId(cluster)
            .setControllerListenerName("CONTROLLER")
            .setMetadataLogDirectory(directories[0])
            .setDirectories(all)
            .setIgnoreFormatted(true)
            .setReleaseVersion(MetadataVersion.LATEST_PRODUCTION)
            .run();
    }

    private static void start(int id) {
        KafkaConfig config = KafkaConfig.fromProps(CONFIGS.get(id));
        KafkaRaftServer server = new KafkaRaftServer(config, Time.SYSTEM);
        server.startup();
        RUNNING.put(id, server);
    }

    private static void obey() throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.trim().split(" ");
            int id = Integer.parseInt(words[1]);
            if (words[0].equals("stop")) {
                KafkaRaftServer server = RUNNING.remove(id);
                server.shutdown();
                server.awaitShutdown();
            } else {
                start(id);
            }
            say("DONE " + line);
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
