import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.log4j.ConsoleAppender;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.SimpleLayout;

/**
 * Kafka's own controller as an oracle: reads scenarios, one JSON object per line (the "input" of a
 * vector), plays each on the ZooKeeper at the given address and prints "played", the number of its
 * line and a JSON object: "steps", those that could be taken, and "after", what was seen before and
 * after each of them. Some are played at the same time: the end of a session is mostly waiting.
 */
public final class Oracle {
    private static final int AT_ONCE = 6;

    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final String address;

    private Oracle(String address) {
        this.address = address;
    }

    public static void main(String[] args) throws Exception {
        Logger.getRootLogger().setLevel(args.length > 1 ? Level.toLevel(args[1]) : Level.ERROR);
        Logger.getRootLogger().addAppender(new Accidents());
        if (args.length > 1) {
            Logger.getRootLogger().addAppender(
                new ConsoleAppender(new SimpleLayout(), "System.err"));
        }
        new Oracle(args[0]).serve();
        System.exit(0);
    }

    private void serve() throws Exception {
        ExecutorService players = Executors.newFixedThreadPool(AT_ONCE);
        out.println("ready");
        try (var lines = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            int count = 0;
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                int number = count++;
                String input = line;
                players.execute(() -> say(number, play(number, input)));
            }
        }
    }

    private synchronized void say(int number, ObjectNode played) {
        out.println("played " + number + " " + played);
    }

    private ObjectNode play(int number, String line) {
        try {
            JsonNode input = View.JSON.readTree(line);
            return Scenario.play(address + "/oracle-" + number, input);
        } catch (Throwable failed) {
            return View.JSON.createObjectNode().put("failed", failed.toString());
        }
    }
}
