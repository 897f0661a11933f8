package org.apache.kafka.controller;

/**
 * When a broker was last heard of. This class is in Kafka's package because Kafka shows its
 * heartbeat tracker to nobody else, and a heartbeat sent instead would have effects of its own.
 */
public final class Contacts {
    private Contacts() {
    }

    /** As if the broker had been heard of at this time; one without a session gets none. */
    public static void renew(QuorumController controller, int broker, long epoch, long nanos) {
        var tracker = controller.clusterControl().heartbeatManager().tracker();
        var session = new BrokerIdAndEpoch(broker, epoch);
        tracker.contactTime(session).ifPresent(before -> tracker.updateContactTime(session, nanos));
    }
}
