import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * What all programs of the benchmark in Kafka Streams share: exactly-once, one thread, no record cache. Arguments are name=value words; names with
 * a dot are settings of Kafka Streams. Prints a line for each change of state and ends on SIGTERM.
 */
abstract class Peer {
  private final Map<String, String> arguments = new HashMap<>();

  abstract Topology topology();

  final void run(String[] words) {
    for (String word : words) arguments.put(word.substring(0, word.indexOf('=')), word.substring(word.indexOf('=') + 1));
    run();
  }

  private void run() {
    KafkaStreams streams = new KafkaStreams(topology(), settings());
    streams.setStateListener((now, before) -> {
      System.out.println("state " + now.name().toLowerCase());
      System.out.flush();
    });
    streams.setUncaughtExceptionHandler(failure -> {
      failure.printStackTrace();
      // A failed thread has no one to do its work: better to end than to seem slow.
      Runtime.getRuntime().halt(1);
      return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
    });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> close(streams)));
    streams.start();
  }

  /** Leaves the group too, or its name would stay taken until the session has ended. */
  private static void close(KafkaStreams streams) {
    streams.close(CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP).withTimeout(Duration.ofSeconds(15)));
  }

  private Properties settings() {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, argument("application"));
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, argument("brokers"));
    settings.put(StreamsConfig.STATE_DIR_CONFIG, argument("stateDirectory"));
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, argument("commitMs"));
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    settings.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
    arguments.forEach((name, value) -> {
      if (name.indexOf('.') >= 0) settings.put(name, value);
    });
    return settings;
  }

  final String argument(String name) {
    String value = arguments.get(name);
    if (value == null) throw new IllegalArgumentException("The argument " + name + "=... is missing.");
    return value;
  }
}
