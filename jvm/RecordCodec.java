import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;

import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Kafka's own metadata records: takes lines of hex, each the value of a record, and answers each
 * with "BYTES", the value as Kafka writes what it has read, and the same as JSON.
 */
public class RecordCodec {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("READY");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(HexFormat.of().parseHex(line)));
            System.out.flush();
        }
    }

    private static String answer(byte[] value) {
        ApiMessageAndVersion record = MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(ByteBuffer.wrap(value)), value.length);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
        MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(out));
        return "BYTES " + HexFormat.of().formatHex(out.array()) + " "
            + MetadataJsonConverters.writeJson(record.message(), record.version());
    }
}
