/** The only source of randomness. Injected, so that a seed reproduces a run. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}

export const systemRandom: Random = { next: () => Math.random() };

/** Seeded generator (mulberry32): the same seed gives the same sequence on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    },
  };
}
