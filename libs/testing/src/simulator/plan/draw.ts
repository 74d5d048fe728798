import type { Random } from '@tally/streams';

/** Draws of every kind from one source of chance. */
export class Draw {
  constructor(private readonly random: Random) {}

  /** A whole number from 0 on, less than the bound. */
  below(bound: number): number {
    return Math.floor(this.random.next() * bound);
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  oneOf<T>(choices: readonly T[]): T {
    const chosen = choices[this.below(choices.length)];
    if (chosen === undefined) throw new Error('There is nothing to choose from.');
    return chosen;
  }

  /** One of the choices, each as likely as its weight. */
  weighted<T>(choices: readonly (readonly [choice: T, weight: number])[]): T {
    let left = this.random.next() * choices.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [choice, weight] of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return this.oneOf(choices.map(([choice]) => choice));
  }
}
