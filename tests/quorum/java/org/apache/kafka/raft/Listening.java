package org.apache.kafka.raft;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.SnapshotReader;

/** What the client tells the state machine above it, one line per call. */
final class Listening implements RaftClient.Listener<String> {
    private final List<String> lines = new ArrayList<>();

    int count() {
        return lines.size();
    }

    /** The lines since the last time. */
    List<String> take() {
        List<String> taken = List.copyOf(lines);
        lines.clear();
        return taken;
    }

    @Override
    public void handleCommit(BatchReader<String> batches) {
        try (batches) {
            batches.forEachRemaining(batch -> lines.add("commit %d..%d epoch %d %s".formatted(
                batch.baseOffset(), batch.lastOffset(), batch.epoch(), batch.records())));
        }
    }

    @Override
    public void handleLoadSnapshot(SnapshotReader<String> snapshot) {
        try (snapshot) {
            OffsetAndEpoch id = snapshot.snapshotId();
            lines.add("snapshot %d-%d".formatted(id.offset(), id.epoch()));
        }
    }

    @Override
    public void handleLeaderChange(LeaderAndEpoch change) {
        OptionalInt leader = change.leaderId();
        String who = leader.isPresent() ? String.valueOf(leader.getAsInt()) : "none";
        lines.add("leader %s epoch %d".formatted(who, change.epoch()));
    }
}
