package kedge.oracle;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/** A clock that stands still until a scenario moves it. */
final class HandClock implements Time {
    private final AtomicLong nanos = new AtomicLong(Duration.ofHours(1).toNanos());

    /** The time that it will be after so long. */
    long nanosAfter(Duration span) {
        return nanos.get() + span.toNanos();
    }

    void moveTo(long later) {
        nanos.set(later);
    }

    @Override
    public long nanoseconds() {
        return nanos.get();
    }

    @Override
    public long milliseconds() {
        return Duration.ofNanos(nanos.get()).toMillis();
    }

    @Override
    public void sleep(long millis) {
        throw waiting();
    }

    @Override
    public void waitObject(Object lock, Supplier<Boolean> condition, long deadline) {
        throw waiting();
    }

    /** Kafka's controller never waits by its clock; a wait would never end here. */
    private static UnsupportedOperationException waiting() {
        return new UnsupportedOperationException("nobody moves the clock during a wait");
    }
}
