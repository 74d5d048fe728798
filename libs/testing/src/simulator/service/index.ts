export type { SimulateOptions, SimulationReport } from './options.js';
export { type SimulatedRecord, SimulationResult } from './result.js';
export { simulate } from './simulate.js';
export { SimulatedService } from './simulated-service.js';
export { SimulationError } from './simulation-error.js';
export type { Workload, WorkloadBuilder, WorkloadRecordOptions } from './workload.js';
