/** The option `fetchProcess`: another process fetches what the group's consumer reads. */
import { brokerSuite } from '../libs/testing/src/broker.suite.js';
import { createKafkaSetting } from './kafka-setting.js';

brokerSuite('a Kafka cluster, with a process that fetches', () => createKafkaSetting({ fetchProcess: true }));
