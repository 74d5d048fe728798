/** Exact decimal numbers, for money. */

const digitsMax = 1_000;
const unscaledMost = 10n ** BigInt(digitsMax);
const form = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,5}))?$/;

/**
 * An immutable decimal number, `unscaled / 10^scale`. Held in lowest terms (`1.50` is `1.5`), so that one number has one form: equal numbers
 * are equal in every field and become equal bytes. At most 1,000 digits; a RangeError says so.
 * @example Decimal.parse('12.30').add(Decimal.of(5)).toFixed(2) // '17.30'
 */
export class Decimal {
  static readonly zero = new Decimal(0n, 0);

  private constructor(
    readonly unscaled: bigint,
    /** Digits behind the point, 0 to 1,000. */
    readonly scale: number,
  ) {}

  /**
   * The number `unscaled / 10^scale`. An integer given as number must be a safe one.
   * @throws RangeError
   */
  static of(unscaled: bigint | number, scale = 0): Decimal {
    if (typeof unscaled === 'number' && !Number.isSafeInteger(unscaled))
      throw new RangeError(`${unscaled} is not a safe integer; parse a text instead`);
    if (!Number.isInteger(scale) || scale < 0 || scale > 2 * digitsMax)
      throw new RangeError(`a scale from 0 to ${2 * digitsMax} is needed, not ${scale}`);
    return Decimal.reduce(BigInt(unscaled), scale);
  }

  /**
   * Reads `-12.30`, also with an exponent, as other programs may write it.
   * @throws RangeError when the text is not a decimal number, or too long
   */
  static parse(text: string): Decimal {
    const match = text.length <= 2 * digitsMax + 10 ? form.exec(text) : null;
    if (match === null) throw new RangeError(`"${text.slice(0, 60)}" is not a decimal number`);
    const [, sign, whole, fraction = '', exponent = '0'] = match;
    const scale = fraction.length - Number(exponent);
    const digits = BigInt(`${whole}${fraction}`);
    if (digits !== 0n && (scale < -digitsMax || scale > 3 * digitsMax)) throw tooLong();
    const unscaled = sign === '-' ? -digits : digits;
    if (digits === 0n) return Decimal.zero;
    return scale < 0 ? Decimal.reduce(unscaled * 10n ** BigInt(-scale), 0) : Decimal.reduce(unscaled, scale);
  }

  add(other: Decimal): Decimal {
    const scale = Math.max(this.scale, other.scale);
    return Decimal.reduce(unscaledAt(this, scale) + unscaledAt(other, scale), scale);
  }

  subtract(other: Decimal): Decimal {
    const scale = Math.max(this.scale, other.scale);
    return Decimal.reduce(unscaledAt(this, scale) - unscaledAt(other, scale), scale);
  }

  multiply(other: Decimal): Decimal {
    return Decimal.reduce(this.unscaled * other.unscaled, this.scale + other.scale);
  }

  negate(): Decimal {
    return Decimal.reduce(-this.unscaled, this.scale);
  }

  /** Negative, 0 or positive: for `sort`. */
  compare(other: Decimal): number {
    const scale = Math.max(this.scale, other.scale);
    const left = unscaledAt(this, scale);
    const right = unscaledAt(other, scale);
    return left < right ? -1 : left > right ? 1 : 0;
  }

  equals(other: Decimal): boolean {
    return this.unscaled === other.unscaled && this.scale === other.scale;
  }

  /** The one text form of the number: no exponent, no superfluous zeros. */
  toString(): string {
    return this.toFixed(this.scale);
  }

  /**
   * With exactly so many digits behind the point.
   * @throws RangeError when digits would be lost: rounding is a decision of the caller's
   */
  toFixed(scale: number): string {
    if (scale < this.scale) throw new RangeError(`${this.toString()} has more than ${scale} digits behind the point`);
    const unscaled = unscaledAt(this, scale);
    const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
    const sign = unscaled < 0n ? '-' : '';
    return scale === 0 ? `${sign}${digits}` : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  }

  /** In JSON it is a text, for numbers lose digits elsewhere. */
  toJSON(): string {
    return this.toString();
  }

  /** The one form of `unscaled / 10^scale`. */
  private static reduce(unscaled: bigint, scale: number): Decimal {
    let digits = unscaled;
    let places = scale;
    while (places > 0 && digits % 10n === 0n) {
      digits /= 10n;
      places -= 1;
    }
    if (digits >= unscaledMost || digits <= -unscaledMost || places > digitsMax) throw tooLong();
    return new Decimal(digits, places);
  }
}

function unscaledAt(value: Decimal, scale: number): bigint {
  return scale === value.scale ? value.unscaled : value.unscaled * 10n ** BigInt(scale - value.scale);
}

function tooLong(): RangeError {
  return new RangeError(`decimal numbers have at most ${digitsMax} digits`);
}
