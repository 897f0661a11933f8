package kedge.oracle;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.errors.InvalidUpdateVersionException;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.raft.internals.MemoryBatchReader;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.snapshot.SnapshotWriter;

/**
 * The metadata log of a quorum whose only voter is this node, in memory. An entry's place in the
 * list is its offset. What is appended is committed at once, unless commits are withheld.
 */
final class SoloLog implements RaftClient<ApiMessageAndVersion> {
    /** Kafka only adds up the sizes of batches, to know when a snapshot is due. */
    private static final int BATCH_BYTES = 1;

    /** An entry; the record that begins a leader's term is Raft's own and has no content here. */
    record Entry(long offset, int term, Optional<ApiMessageAndVersion> content) {
    }

    private final int node;
    private final HandClock clock;
    private final List<Entry> entries = new ArrayList<>();
    private List<ApiMessageAndVersion> prepared = List.of();
    private Listener<ApiMessageAndVersion> controller;
    private int term;
    private boolean leader;
    private boolean withholding;
    private int committed;

    SoloLog(int node, HandClock clock) {
        this.node = node;
        this.clock = clock;
    }

    // ---- what a scenario does ----------------------------------------------------------------

    /** This node is elected, for a new term. */
    synchronized void win() {
        term++;
        leader = true;
        entries.add(new Entry(entries.size(), term, Optional.empty()));
        committed = entries.size();
        controller.handleLeaderChange(leaderAndEpoch());
    }

    /** Another node is elected: it never saw what was not committed. Returns the count of that. */
    synchronized int lose() {
        int lost = entries.size() - committed;
        entries.subList(committed, entries.size()).clear();
        withholding = false;
        leader = false;
        term++;
        controller.handleLeaderChange(new LeaderAndEpoch(OptionalInt.of(node + 1), term));
        return lost;
    }

    /** From now on nothing is committed, until another node is elected. */
    synchronized void withhold() {
        withholding = true;
    }

    synchronized boolean isWithholding() {
        return withholding;
    }

    /** A copy of the entries from an offset on. */
    synchronized List<Entry> from(long offset) {
        return List.copyOf(entries.subList((int) offset, entries.size()));
    }

    // ---- what the controller does ------------------------------------------------------------

    @Override
    public synchronized long prepareAppend(int epoch, List<ApiMessageAndVersion> records) {
        prepared = List.copyOf(records);
        return entries.size() + prepared.size() - 1L;
    }

    @Override
    public synchronized void schedulePreparedAppend() {
        long base = entries.size();
        for (ApiMessageAndVersion record : prepared) {
            entries.add(new Entry(entries.size(), term, Optional.of(record)));
        }
        if (!withholding) {
            committed = entries.size();
            var batch = Batch.data(base, term, clock.milliseconds(), BATCH_BYTES, prepared);
            controller.handleCommit(MemoryBatchReader.of(List.of(batch), closed -> { }));
        }
        prepared = List.of();
    }

    @Override
    public void register(Listener<ApiMessageAndVersion> listener) {
        controller = listener;
    }

    @Override
    public void unregister(Listener<ApiMessageAndVersion> listener) {
        // a controller that is closed gets no more events, because no scenario goes on then
    }

    @Override
    public synchronized OptionalLong highWatermark() {
        return OptionalLong.of(committed);
    }

    @Override
    public synchronized long logEndOffset() {
        return entries.size();
    }

    @Override
    public synchronized LeaderAndEpoch leaderAndEpoch() {
        return new LeaderAndEpoch(leader ? nodeId() : OptionalInt.empty(), term);
    }

    @Override
    public OptionalInt nodeId() {
        return OptionalInt.of(node);
    }

    @Override
    public synchronized void resign(int epoch) {
        leader = false;
    }

    @Override
    public KRaftVersion kraftVersion() {
        return KRaftVersion.KRAFT_VERSION_0;
    }

    @Override
    public void upgradeKRaftVersion(int epoch, KRaftVersion version, boolean validateOnly) {
        // the vectors have this text
        throw new InvalidUpdateVersionException("not in this oracle");
    }

    @Override
    public Optional<SnapshotWriter<ApiMessageAndVersion>> createSnapshot(
            OffsetAndEpoch id, long lastContained) {
        return Optional.empty();
    }

    @Override
    public Optional<OffsetAndEpoch> latestSnapshotId() {
        return Optional.empty();
    }

    @Override
    public CompletableFuture<Void> shutdown(int timeoutMs) {
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public void close() {
        // nothing is open: the log is in memory
    }
}
