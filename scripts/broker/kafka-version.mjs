// @ts-check

/** Both ways to get a broker, the image and the artifact, take this version. */
export const kafkaVersion = '4.4.0';
export const kafkaImage = `apache/kafka:${kafkaVersion}`;

/** What the lock file is made from. The second lets the broker write a log, which Kafka's own packaging adds too. */
export const kafkaArtifacts = [
  { group: 'org.apache.kafka', artifact: 'kafka_2.13', version: kafkaVersion },
  { group: 'org.apache.logging.log4j', artifact: 'log4j-slf4j-impl', version: '2.25.5' },
];
