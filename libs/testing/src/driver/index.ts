export type { DrivenParts } from './driven-worker.js';
export { TestDriverError, type TestDriverErrorCode } from './driver-error.js';
export type { StartOptions, TestDriverOptions } from './driver-options.js';
export type { InputRecord, PipeOptions, TestInput } from './test-input.js';
export type { EmittedRecord, OutputRecord, TestOutput } from './test-output.js';
export type { PutOptions, StorePlace, TestStore } from './test-store.js';
export { type DrivenApplication, TopologyTestDriver } from './topology-test-driver.js';
