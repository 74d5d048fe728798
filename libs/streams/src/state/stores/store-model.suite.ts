/* oxlint-disable vitest/no-standalone-expect -- called from within tests */
/** Any store against a simple model of it, through everything that can happen to a task. */
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { expect } from 'vitest';
import type { StoreHandle } from '../../topology/store-definition.js';
import { StoreSetting } from './store-setting.suite.js';

export interface ModelTest<S extends object, Operation, Model> {
  readonly handle: StoreHandle<S>;
  readonly operations: fc.Arbitrary<Operation>;
  readonly newModel: () => Model;
  /** Too old to be written. */
  readonly isDropped: (model: Model, operation: Operation) => boolean;
  /** @returns what the store returns. Not called for what is dropped */
  readonly applyToModel: (model: Model, operation: Operation) => unknown;
  readonly apply: (store: S, operation: Operation) => unknown;
  /** What the store returns for what it drops. */
  readonly dropped: unknown;
  /** Everything that can be read synchronously, of the store and of the model. */
  readonly read: (store: S) => unknown;
  readonly expected: (model: Model) => unknown;
  /** All entries, asynchronously. */
  readonly list: (store: S) => Promise<unknown>;
  readonly expectedList: (model: Model) => unknown;
  readonly numRuns: number;
}

type Step<Operation> =
  | { readonly kind: 'record' | 'failedRecord' | 'sharedRecord'; readonly operations: readonly Operation[] }
  | { readonly kind: 'commit' | 'abort' | 'flush' | 'reopen' | 'restore' };

export async function equalsModel<S extends object, Operation, Model>(test: ModelTest<S, Operation, Model>): Promise<void> {
  const operations = fc.array(test.operations, { minLength: 1, maxLength: 4 });
  const steps: fc.Arbitrary<Step<Operation>[]> = fc.array(
    fc.oneof(
      { weight: 14, arbitrary: fc.record({ kind: fc.constant('record' as const), operations }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('failedRecord' as const, 'sharedRecord' as const), operations }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('commit' as const) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom('abort' as const, 'flush' as const, 'reopen' as const, 'restore' as const) }),
      },
    ),
    { minLength: 5, maxLength: 50, size: 'max' },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const setting = await StoreSetting.open(test.handle);
      let model = test.newModel();
      let committed = structuredClone(model);
      const applyAll = (store: S, ops: readonly Operation[]): void => {
        for (const operation of ops) {
          const expected = test.isDropped(model, operation) ? test.dropped : test.applyToModel(model, operation);
          expectEqual(test.apply(store, operation), expected);
        }
      };
      /** What a reader was told stays so: what was too old beside the other reader's writes is not written without them either. */
      const share = (rolledBack: S, kept: S, ops: readonly Operation[]): void => {
        const together = structuredClone(model);
        for (const [index, operation] of ops.entries()) {
          const isKept = index % 2 === 1;
          const isDropped = test.isDropped(together, operation);
          const expected = isDropped ? test.dropped : test.applyToModel(together, operation);
          expectEqual(test.apply(isKept ? kept : rolledBack, operation), expected);
          if (isKept && !isDropped) test.applyToModel(model, operation);
        }
      };
      for (const step of sequence) {
        switch (step.kind) {
          case 'record':
            setting.record(0, (store) => applyAll(store, step.operations));
            break;
          case 'failedRecord': {
            const before = structuredClone(model);
            setting.failedRecord(0, (store) => applyAll(store, step.operations));
            model = before;
            break;
          }
          case 'sharedRecord':
            setting.sharedRecord(0, (rolledBack, kept) => share(rolledBack, kept, step.operations));
            break;
          case 'commit':
            setting.commit();
            committed = structuredClone(model);
            break;
          case 'abort':
            setting.abort();
            model = structuredClone(committed);
            break;
          case 'flush':
            await setting.flush();
            break;
          case 'reopen':
          case 'restore':
            await setting[step.kind]();
            model = structuredClone(committed);
        }
        expectEqual(setting.read(test.read), test.expected(model));
      }
      expectEqual(await setting.readLater(test.list), test.expectedList(model));
      expectEqual(await setting.query(test.list), test.expectedList(committed));
      await setting.close();
    }),
    { numRuns: test.numRuns },
  );
}

/** Vitest's comparison takes many times as long, so it only says what differs. */
function expectEqual(found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected)) expect(found).toEqual(expected);
}

/** Thousands of steps, each checked whole: seconds of work, more where other tests share the processor. */
export const modelTimeoutMs = 60_000;

/** Keys that begin with one another, with and without the bytes that the layouts use as marks. */
export const modelKeys = ['', 'a', 'a\u0000', 'a\u0000\u0000', 'a\u0000\u0001', 'ab', 'b'] as const;

/** Most fit into a node by tens, some fill one. */
export const modelValues = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 8 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 1500 }).map((length) => 'v'.repeat(length)) },
);

export async function listOf<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const entry of entries) list.push(entry);
  return list;
}
