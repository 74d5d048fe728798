import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;

/** Parses the whole payment into an object, as the other side does. */
public final class PaymentSerde implements Serde<Payment> {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final ObjectReader READER = MAPPER.readerFor(Payment.class);
  private static final ObjectWriter WRITER = MAPPER.writerFor(Payment.class);

  @Override
  public Serializer<Payment> serializer() {
    return (topic, payment) -> {
      try {
        return payment == null ? null : WRITER.writeValueAsBytes(payment);
      } catch (IOException unwritable) {
        throw new UncheckedIOException(unwritable);
      }
    };
  }

  @Override
  public Deserializer<Payment> deserializer() {
    return (topic, bytes) -> {
      try {
        return bytes == null ? null : READER.readValue(bytes);
      } catch (IOException malformed) {
        throw new UncheckedIOException(malformed);
      }
    };
  }
}
