export * from './broker/index.js';
export * from './driver/index.js';
export { ProcessClock } from './process-clock.js';
export * from './simulator/index.js';
export { EndlessRunError, VirtualClock, type VirtualClockOptions } from './virtual-clock.js';
