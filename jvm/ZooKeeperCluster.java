import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.Reader;
import java.net.InetSocketAddress;
import java.util.ArrayList;
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
 * ZooKeeper and some brokers of its era in one JVM.
 *
 * Arguments: the port and the directory of ZooKeeper, then one properties file per broker. Says
 * READY when all brokers are up, then takes lines: "stop 2", "start 2".
 */
public class ZooKeeperCluster {
    private static final Map<Integer, Properties> CONFIGS = new ConcurrentHashMap<>();
    private static final Map<Integer, KafkaServer> RUNNING = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        startZooKeeper(Integer.parseInt(arguments[0]), new File(arguments[1]));
        List<Thread> starting = new ArrayList<>();
        for (int i = 2; i < arguments.length; i++) {
            Properties config = new Properties();
            try (Reader reader = new FileReader(arguments[i])) {
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
