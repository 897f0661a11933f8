import java.util.List;
import java.util.Queue;
import org.apache.kafka.common.errors.ControllerMovedException;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.spi.LoggingEvent;
import org.apache.log4j.spi.ThrowableInformation;

/**
 * Hears of exceptions that the controller did not expect: it logs them, and whatever the event had
 * still to do is not done. An answer after one of them is an accident of Kafka's, not a rule.
 */
final class Accidents extends AppenderSkeleton {
    /** How it speaks of an event, a start or a batch of changes that went no further. */
    private static final List<String> ENDS = List.of(
        "Error processing event", "Error while electing", "Error while moving");

    /** The log of state changes: what is refused there was judged, not stumbled over. */
    private static final String REFUSALS = "state.change.logger";

    /** Where the controller whose event runs on this thread collects them. */
    static final ThreadLocal<Queue<String>> HERE = new ThreadLocal<>();

    @Override
    protected void append(LoggingEvent event) {
        ThrowableInformation thrown = event.getThrowableInformation();
        Queue<String> here = HERE.get();
        if (thrown == null || here == null || event.getLoggerName().equals(REFUSALS)
            || thrown.getThrowable() instanceof ControllerMovedException) {
            return;
        }
        String message = event.getRenderedMessage();
        if (ENDS.stream().anyMatch(message::contains)) {
            here.add(thrown.getThrowable().getClass().getSimpleName() + ": " + message);
        }
    }

    @Override
    public void close() {
    }

    @Override
    public boolean requiresLayout() {
        return false;
    }
}
