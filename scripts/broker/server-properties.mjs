// @ts-check

/**
 * The settings of a broker for development: one node that is broker and controller, quick group and transaction coordination, nothing replicated.
 *
 * @param {{brokerPort: number, controllerPort: number, dataDirectory: string, listenAddress?: string}} place
 * @returns {Map<string, string>}
 */
export function serverProperties({ brokerPort, controllerPort, dataDirectory, listenAddress = '127.0.0.1' }) {
  return new Map([
    ['process.roles', 'broker,controller'],
    ['node.id', '1'],
    ['controller.quorum.voters', `1@127.0.0.1:${controllerPort}`],
    ['controller.listener.names', 'CONTROLLER'],
    ['listeners', `PLAINTEXT://${listenAddress}:${brokerPort},CONTROLLER://127.0.0.1:${controllerPort}`],
    ['advertised.listeners', `PLAINTEXT://127.0.0.1:${brokerPort}`],
    ['listener.security.protocol.map', 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT'],
    ['inter.broker.listener.name', 'PLAINTEXT'],
    ['log.dirs', dataDirectory],
    ['auto.create.topics.enable', 'false'],
    ['num.partitions', '4'],
    // What is written for a test or a trial carries any time; the broker would delete what it takes for old, seconds after it was written.
    ['log.retention.ms', '-1'],
    ['offsets.topic.replication.factor', '1'],
    ['offsets.topic.num.partitions', '4'],
    ['transaction.state.log.replication.factor', '1'],
    ['transaction.state.log.min.isr', '1'],
    ['transaction.state.log.num.partitions', '4'],
    ['share.coordinator.state.topic.replication.factor', '1'],
    ['share.coordinator.state.topic.min.isr', '1'],
    ['share.coordinator.state.topic.num.partitions', '1'],
    // A transaction that outlived its time-out is ended within a second, not within ten.
    ['transaction.abort.timed.out.transaction.cleanup.interval.ms', '1000'],
    ['group.initial.rebalance.delay.ms', '0'],
    // How long the partitions of a killed member stay without an owner.
    ['group.consumer.session.timeout.ms', '6000'],
    ['group.consumer.min.session.timeout.ms', '6000'],
    ['group.consumer.heartbeat.interval.ms', '1000'],
    ['group.consumer.min.heartbeat.interval.ms', '1000'],
  ]);
}

/**
 * @param {Map<string, string>} properties
 * @returns {string} the text of a server.properties file
 */
export function propertiesFile(properties) {
  return [...properties].map(([name, value]) => `${name}=${value}\n`).join('');
}

/**
 * The official image takes its settings from the environment.
 *
 * @param {Map<string, string>} properties
 * @returns {string[]} `NAME=value`
 */
export function propertiesEnvironment(properties) {
  return [...properties].map(([name, value]) => `KAFKA_${name.toUpperCase().replaceAll('.', '_')}=${value}`);
}

/**
 * Only what went wrong is worth a line: the broker writes hundreds while it starts.
 *
 * @param {string} logFile
 */
export function loggingConfiguration(logFile) {
  return `Configuration:
  Appenders:
    File:
      name: FILE
      fileName: ${JSON.stringify(logFile)}
      PatternLayout: { pattern: "%d{ISO8601} %-5p %m (%c)%n" }
  Loggers:
    Root: { level: warn, AppenderRef: { ref: FILE } }
`;
}
