/** Random sequences of what a task does, for the model of its state. */
import * as fc from 'fast-check';

export const storeNames = ['accounts', 'accounts2'] as const;
export const keys = ['b', 'c\u0000', 'c'] as const;

/** No cache, one that holds less than all keys, and one that holds them all. */
export const cacheBounds = fc.constantFrom(0, 1000, 100_000);

export type Step =
  | { readonly kind: 'put'; readonly store: number; readonly key: number; readonly value: number | null }
  | {
      readonly kind:
        | 'freeze'
        | 'confirm'
        | 'commit'
        | 'flush'
        | 'discardCommitting'
        | 'discardOpen'
        | 'discardUnflushed'
        | 'startFlush'
        | 'endFlush'
        | 'reopen'
        | 'crash'
        | 'flushOfClosed';
    }
  | { readonly kind: 'startRange'; readonly store: number; readonly view: 'open' | 'committed' }
  | { readonly kind: 'endRange' }
  | { readonly kind: 'restore'; readonly store: number; readonly key: number; readonly value: number | null }
  | { readonly kind: 'rebuild'; readonly store: number };

const storeIndex = fc.nat({ max: storeNames.length - 1 });
const keyIndex = fc.nat({ max: keys.length - 1 });
const optionalValue = fc.option(fc.nat({ max: 99 }), { freq: 3 });

function always<const K extends Exclude<Step['kind'], 'put' | 'startRange' | 'restore' | 'rebuild'>>(weight: number, ...kinds: K[]) {
  return { weight, arbitrary: fc.constantFrom(...kinds).map((kind): Step => ({ kind })) };
}

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('put' as const), store: storeIndex, key: keyIndex, value: optionalValue }) },
    always(6, 'freeze', 'confirm'),
    // Whole cycles at once, or random steps would seldom complete two of them.
    always(14, 'commit', 'flush'),
    always(6, 'startFlush', 'endFlush'),
    always(2, 'discardCommitting', 'discardOpen', 'discardUnflushed'),
    always(1, 'reopen', 'crash', 'flushOfClosed'),
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('startRange' as const),
        store: storeIndex,
        view: fc.constantFrom('open' as const, 'committed' as const),
      }),
    },
    always(4, 'endRange'),
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore' as const), store: storeIndex, key: keyIndex, value: optionalValue }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('rebuild' as const), store: storeIndex }) },
  ),
  { minLength: 10, maxLength: 60, size: 'max' },
);
