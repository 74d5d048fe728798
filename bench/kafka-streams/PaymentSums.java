import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/** The benchmark's work in Kafka Streams: the sum of payments per account, each update emitted. */
public final class PaymentSums extends Peer {
  public static void main(String[] words) {
    new PaymentSums().run(words);
  }

  @Override
  Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    var payments = builder.stream(argument("input"), Consumed.with(Serdes.String(), new PaymentSerde()));
    var balances = payments
        .groupByKey(Grouped.with(Serdes.String(), new PaymentSerde()))
        .aggregate(() -> 0L, (account, payment, sum) -> sum + payment.amount,
            Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("balances").withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()));
    balances.toStream().to(argument("output"), Produced.with(Serdes.String(), Serdes.Long()));
    return builder.build();
  }
}
