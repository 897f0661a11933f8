import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;

import kafka.server.KafkaConfig;
import kafka.server.KafkaServer;
import org.apache.kafka.common.utils.Time;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import scala.Option;

/**
 * Some ZooKeeper-mode brokers in one JVM, of 2.8 or of 3.x, and their ZooKeeper if it is wanted.
 *
 * Arguments: "zookeeper", its port and its directory, unless there is one elsewhere; then one
 * properties file per broker. Says READY when all are up, then takes lines: "stop 2" (in order),
 * "start 2".
 */
public class Brokers {
    private static final Map<Integer, Properties> CONFIGS = new ConcurrentHashMap<>();
    private static final Map<Integer, KafkaServer> RUNNING = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        List<String> files = Arrays.asList(arguments);
        if (arguments[0].equals("zookeeper")) {
            startZooKeeper(Integer.parseInt(arguments[1]), new File(arguments[2]));
            files = files.subList(3, files.size());
        }
        List<Thread> starting = new ArrayList<>();
        for (String file : files) {
            Properties config = new Properties();
            try (Reader reader = new FileReader(file)) {
                config.load(reader);
            }
            int id = Integer.parseInt(config.getProperty("broker.id"));
            CONFIGS.put(id, config);
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

    private static void startZooKeeper(int port, File directory) throws Exception {
        ZooKeeperServer server = new ZooKeeperServer(directory, directory, 1000);
        ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", port), 0).startup(server);
    }

    private static void start(int id) {
        KafkaConfig config = KafkaConfig.fromProps(CONFIGS.get(id));
        KafkaServer server = new KafkaServer(config, Time.SYSTEM, Option.empty(), false);
        server.startup();
        RUNNING.put(id, server);
    }

    private static void obey() throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String[] words = line.trim().split(" ");
            int id = Integer.parseInt(words[1]);
            if (words[0].equals("stop")) {
                RUNNING.remove(id).shutdown();
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
