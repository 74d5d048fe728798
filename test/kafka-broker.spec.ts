/** The native client against the conformance suite of the broker port. */
import { brokerSuite } from '../libs/testing/src/broker.suite.js';
import { createKafkaSetting } from './kafka-setting.js';

brokerSuite('a Kafka cluster', () => createKafkaSetting());
