package kedge.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The controller's answer to a request, which may be far away: it comes when the request's records
 * are committed. How it is shown is said when the request is made.
 */
record Reply<T>(CompletableFuture<T> coming, Function<T, JsonNode> form) {
    static Reply<?> of(JsonNode known) {
        return new Reply<>(CompletableFuture.completedFuture(known), same -> same);
    }

    /** The reply to a step that is no request. */
    static Reply<?> none() {
        return of(Fields.JSON.nullNode());
    }

    /** Waits for the answer; a refusal is one too. */
    void await() throws Exception {
        try {
            coming.get(Cluster.PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException refused) {
            // shown later, as any answer
        }
    }

    JsonNode show() throws Exception {
        try {
            return form.apply(coming.get(Cluster.PATIENCE_SECONDS, TimeUnit.SECONDS));
        } catch (ExecutionException refused) {
            return Fields.outcome(refused.getCause());
        }
    }
}
