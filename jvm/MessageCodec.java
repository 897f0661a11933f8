import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;

import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Kafka's own messages: takes lines "request 6 8 <hex>" (kind, key, version, body) and answers each
 * with "BYTES", the body as Kafka writes what it has read, and the same as JSON.
 */
public class MessageCodec {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("READY");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line.split(" ")));
            System.out.flush();
        }
    }

    private static String answer(String[] words) throws Exception {
        short version = Short.parseShort(words[2]);
        ApiMessageType type = ApiMessageType.fromApiKey(Short.parseShort(words[1]));
        ApiMessage message = words[0].equals("request") ? type.newRequest() : type.newResponse();
        ByteBuffer body = ByteBuffer.wrap(HexFormat.of().parseHex(words[3]));
        message.read(new ByteBufferAccessor(body), version);
        if (body.hasRemaining()) {
            return "BYTES left-over-" + body.remaining() + " null";
        }
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(out), cache, version);
        return "BYTES " + HexFormat.of().formatHex(out.array()) + " " + json(message, version);
    }

    private static Object json(ApiMessage message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        Method write = converter.getMethod("write", message.getClass(), short.class);
        return write.invoke(null, message, version);
    }
}
