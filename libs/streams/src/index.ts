export * from './core/index.js';
export * from './dsl/index.js';
export * from './runtime/index.js';
export * from './serde/index.js';
export * from './state/index.js';
export * from './topology/index.js';
