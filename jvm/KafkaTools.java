import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's command line tools, one call after the other in one JVM.
 *
 * Takes lines of JSON, ["topics", "--list", …], and answers each with "ANSWER", the exit code and
 * what the tool wrote to stdout and to stderr, both in base64.
 */
public class KafkaTools {
    private static final Map<String, String> TOOLS = Map.of(
        "topics", "org.apache.kafka.tools.TopicCommand",
        "configs", "kafka.admin.ConfigCommand",
        "reassign", "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
        "elect", "org.apache.kafka.tools.LeaderElectionCommand",
        "log-dirs", "org.apache.kafka.tools.LogDirsCommand",
        "quorum", "org.apache.kafka.tools.MetadataQuorumCommand",
        "features", "org.apache.kafka.tools.FeatureCommand",
        "share-consumer", "org.apache.kafka.tools.consumer.ConsoleShareConsumer");

    /** A stream that the tools keep hold of, whose bytes go wherever the present call wants. */
    private static final class Tap extends OutputStream {
        private ByteArrayOutputStream target = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int octet) {
            target.write(octet);
        }

        @Override
        public synchronized void write(byte[] octets, int from, int count) {
            target.write(octets, from, count);
        }

        synchronized String drain() {
            String text = Base64.getEncoder().encodeToString(target.toByteArray());
            target = new ByteArrayOutputStream();
            return text;
        }
    }

    private static final class Exited extends Error {
        private static final long serialVersionUID = 1L;
    }

    private static Integer exitCode;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        Tap out = new Tap();
        Tap err = new Tap();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> {
            exitCode = exitCode == null ? code : exitCode;
            throw new Exited();
        });
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            int code = run(json.readValue(line, String[].class));
            System.out.flush();
            System.err.flush();
            answers.println("ANSWER " + code + " " + out.drain() + "|" + err.drain());
            answers.flush();
        }
    }

    private static int run(String[] words) throws Exception {
        exitCode = null;
        String[] rest = new String[words.length - 1];
        System.arraycopy(words, 1, rest, 0, rest.length);
        Method entry = Class.forName(TOOLS.get(words[0])).getMethod("main", String[].class);
        try {
            entry.invoke(null, (Object) rest);
        } catch (InvocationTargetException failure) {
            if (!(failure.getCause() instanceof Exited)) {
                failure.getCause().printStackTrace();
                return 1;
            }
        }
        return exitCode == null ? 0 : exitCode;
    }
}
