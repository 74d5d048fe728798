export { createKafkaBroker, KafkaBroker } from './broker.js';
export type { ClientPropertyValue, KafkaBrokerOptions } from './options.js';
export { recommendedThreadPoolSize, threadPoolAdvice } from './thread-pool.js';
