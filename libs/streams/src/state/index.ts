export type { CommittedReader } from './committed-reader.js';
export { keyValueCodec } from './key-value-codec.js';
export type { KeyValueCodec, TimestampedValue } from './key-value-codec.js';
export type { LayerBytes, LayeredStore, RangeBounds, StoredDefinition, StoreView } from './layered-store.js';
export { dataKind, reservedKind } from './layout.js';
export * from './leveldb-engine.js';
export * from './memory-engine.js';
export * from './store-engine.js';
export * from './task-state.js';
