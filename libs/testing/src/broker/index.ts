export { SimulatedBroker, type SimulatedBrokerOptions } from './broker.js';
export { type Delay, type OffsetCommit, SimulatedCluster, type SimulatedClusterOptions, type TestRecord } from './cluster.js';
export { ContractViolation, type SimulatedErrorName, simulatedError } from './errors.js';
export type { FaultAction, FaultRule, Faults, FiredFault, RequestName, SimulatedRequest } from './faults.js';
export type { Isolation } from './log.js';
export type { ProducerSettings } from './transactional-producer.js';
