package org.apache.kafka.raft;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.server.common.serialization.RecordSerde;

/** Records that are texts: what they say does not matter to a quorum. */
final class PlainText implements RecordSerde<String> {
    @Override
    public int recordSize(String text, ObjectSerializationCache cache) {
        return bytes(text).length;
    }

    @Override
    public void write(String text, ObjectSerializationCache cache, Writable to) {
        to.writeByteArray(bytes(text));
    }

    @Override
    public String read(Readable from, int size) {
        return new String(from.readArray(size), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
