export { GlobalKTable } from './global-ktable.js';
export type { AnyGroupedStream, CogroupKey, CogroupValues } from './cogroup.js';
export {
  CogroupedKStream,
  type Cogrouping,
  type PresentValues,
  type SessionCogrouping,
  SessionWindowedCogroupedKStream,
  TimeWindowedCogroupedKStream,
} from './cogrouped-stream.js';
export { type Aggregation, KGroupedStream } from './kgrouped-stream.js';
export { KGroupedTable, type ReversibleAggregation, type ReversibleReduction } from './kgrouped-table.js';
export { type Branches, KStream } from './kstream.js';
export { KTable } from './ktable.js';
export type * from './options.js';
export type { SuppressOptions, TimeLimitOptions, WindowClosesOptions } from './suppress.js';
export type { JoinWindow, RowStore, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows } from '../operators/index.js';
export { StreamsBuilder, type StreamsBuilderOptions, type TableOptions } from './streams-builder.js';
export { type SessionAggregating, SessionWindowedKStream } from './session-windowed-stream.js';
export { TimeWindowedKStream } from './time-windowed-stream.js';
export * from './windows.js';
