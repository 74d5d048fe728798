/**
 * The conformance suite of the broker port. Whatever implements `Broker` passes it, so that what was tested on the simulated broker holds
 * on a real cluster. Nothing in here waits for wall-clock time: scenarios ask again until an answer is there, and pause by the setting's
 * own clock.
 */
import { describe } from 'vitest';
import { adminSuite } from './broker-suite/admin.suite.js';
import { groupSuite } from './broker-suite/groups.suite.js';
import { positionSuite } from './broker-suite/positions.suite.js';
import { readerSuite } from './broker-suite/reader.suite.js';
import { recordSuite } from './broker-suite/records.suite.js';
import type { BrokerSetting } from './broker-suite/scenario.suite.js';
import { transactionSuite } from './broker-suite/transactions.suite.js';

export type { BrokerSetting } from './broker-suite/scenario.suite.js';

/** @param create makes a connected broker for one test; each test uses topics, groups and transactional ids of its own. */
export function brokerSuite(name: string, create: () => Promise<BrokerSetting>): void {
  describe(`${name} as a broker`, () => {
    recordSuite(create);
    transactionSuite(create);
    groupSuite(create);
    positionSuite(create);
    readerSuite(create);
    adminSuite(create);
  });
}
