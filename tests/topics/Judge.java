import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Properties;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Asks Kafka's own classes: one line in is a question, one line out is yes or no. */
public class Judge {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.append(judge(line.split("\t", -1)) ? "yes\n" : "no\n");
        }
        System.out.print(out);
    }

    /** A name alone, or pairs of config names and values; texts arrive as hex of UTF-16. */
    static boolean judge(String[] words) {
        try {
            if (words.length == 1) {
                Topic.validate(text(words[0]));
            } else {
                Properties configs = new Properties();
                for (int i = 0; i < words.length; i += 2) {
                    configs.put(text(words[i]), text(words[i + 1]));
                }
                LogConfig.validate(configs);
            }
            return true;
        } catch (ConfigException | InvalidConfigurationException | InvalidTopicException e) {
            return false;
        }
    }

    static String text(String hex) {
        char[] units = new char[hex.length() / 4];
        for (int i = 0; i < units.length; i++) {
            units[i] = (char) Integer.parseInt(hex.substring(4 * i, 4 * i + 4), 16);
        }
        return new String(units);
    }
}
