import java.time.Duration;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.Suppressed;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.WindowStore;

/** One family of operators, as in operator-topologies.ts. */
public final class OperatorFamilies extends Peer {
  private static final Serde<String> KEY = Serdes.String();
  private static final Serde<Long> VALUE = Serdes.Long();
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration RETENTION = Duration.ofMinutes(1);

  public static void main(String[] words) {
    new OperatorFamilies().run(words);
  }

  @Override
  Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, Long> amounts =
        builder.stream(argument("input"), Consumed.with(KEY, new PaymentSerde())).mapValues(payment -> payment.amount);
    family(amounts, amounts.groupByKey(Grouped.with(KEY, VALUE))).to(argument("output"), Produced.with(KEY, VALUE));
    return builder.build();
  }

  private KStream<String, Long> family(KStream<String, Long> amounts, KGroupedStream<String, Long> grouped) {
    switch (argument("family")) {
      case "stateless":
        return amounts.filter((account, amount) -> amount % 2 == 0).mapValues(amount -> amount * 2);
      case "aggregate":
        return sums(grouped).toStream();
      case "tumbling":
        return byKey(windowed(grouped, TimeWindows.ofSizeAndGrace(SECOND, SECOND)));
      case "hopping":
        return byKey(windowed(grouped, TimeWindows.ofSizeAndGrace(SECOND, SECOND).advanceBy(Duration.ofMillis(250))));
      case "sliding":
        return byKey(grouped.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(Duration.ofMillis(500), SECOND))
            .aggregate(() -> 0L, (account, amount, sum) -> sum + amount, windowStore()));
      case "session":
        return byKey(grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(Duration.ofMillis(200), SECOND))
            .aggregate(() -> 0L, (account, amount, sum) -> sum + amount, (account, one, other) -> one + other,
                Materialized.<String, Long, SessionStore<Bytes, byte[]>>as("sums").withKeySerde(KEY).withValueSerde(VALUE).withRetention(RETENTION)));
      case "suppress":
        return byKey(windowed(grouped, TimeWindows.ofSizeWithNoGrace(SECOND))
            .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()).withName("closed")));
      case "streamJoin":
        return amounts.join(amounts, Long::sum, JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMillis(100)), StreamJoined.with(KEY, VALUE, VALUE));
      case "streamTable":
        return amounts.join(amounts.toTable(store("last")), Long::sum, Joined.with(KEY, VALUE, VALUE));
      case "tableJoin":
        return sums(grouped).join(grouped.count(store("counts")), Long::sum).toStream();
      default:
        throw new IllegalArgumentException("There is no family " + argument("family") + ".");
    }
  }

  private static KTable<String, Long> sums(KGroupedStream<String, Long> grouped) {
    return grouped.aggregate(() -> 0L, (account, amount, sum) -> sum + amount, store("sums"));
  }

  private static KTable<Windowed<String>, Long> windowed(KGroupedStream<String, Long> grouped, TimeWindows windows) {
    return grouped.windowedBy(windows).aggregate(() -> 0L, (account, amount, sum) -> sum + amount, windowStore());
  }

  private static KStream<String, Long> byKey(KTable<Windowed<String>, Long> table) {
    return table.toStream((window, sum) -> window.key());
  }

  private static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> store(String name) {
    return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(name).withKeySerde(KEY).withValueSerde(VALUE);
  }

  private static Materialized<String, Long, WindowStore<Bytes, byte[]>> windowStore() {
    return Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("sums").withKeySerde(KEY).withValueSerde(VALUE).withRetention(RETENTION);
  }
}
