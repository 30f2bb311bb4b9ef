const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Digits of an exponent that is reckoned with: a double counts them exactly. */
const EXPONENT_DIGITS = 15;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Decimal places: `digits` × 10^`exponent`. */
interface Decimal {
  sign: string;
  digits: string;
  exponent: number;
}

/**
 * Text of a JSON number that equal numbers share, whatever a double makes of them: `1.10` is `1.1`, 9007199254740993 stays.
 * A double's own value has the form that ECMAScript gives it.
 */
export function canonicalNumber(text: string): string {
  const decimal = decimalOf(text);
  if (!decimal) return text;
  const short = JSON.stringify(Number(text));
  if (isSame(decimal, decimalOf(short))) return short;
  const { sign, digits, exponent } = decimal;
  return `${sign}${digits}${exponent === 0 ? '' : `e${exponent}`}`;
}

/** Value of a JSON text in which each number is a string of its own kind, so that no two become one. @param json well-formed */
export function exactValue(json: string): unknown {
  const tagged = json.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') ? `"s${token.slice(1)}` : `"n${canonicalNumber(token)}"`,
  );
  return JSON.parse(tagged);
}

/** JSON texts of data with numbers that a double does not hold. */
interface ExactData {
  /** {@link exactValue} of the data. */
  exact: string;
  /** The data with 1 or 0.5 in the place of each such number: an integer for an integer. */
  plain: string;
  /** The first of these numbers. */
  first: string;
}

/** Long digits or a long exponent: without them a double holds every number of a text. */
const MAY_BE_INEXACT = /\d[\d.]{15}|[eE][+-]?\d{3}/;

/** Returns the data twice where a double does not hold each of its numbers, else null. @param json well-formed */
export function exactDataOf(json: string): ExactData | null {
  if (!MAY_BE_INEXACT.test(json)) return null;
  const exact = exactValue(json);
  const inexact: string[] = [];
  const plain = plainOf(exact, inexact);
  const [first] = inexact;
  return first === undefined ? null : { exact: JSON.stringify(exact), plain: JSON.stringify(plain), first };
}

function plainOf(exact: unknown, inexact: string[]): unknown {
  if (Array.isArray(exact)) return exact.map((item) => plainOf(item, inexact));
  if (typeof exact === 'object' && exact !== null) {
    return Object.fromEntries(Object.entries(exact).map(([name, value]) => [name.slice(1), plainOf(value, inexact)]));
  }
  if (typeof exact !== 'string') return exact;
  const text = exact.slice(1);
  if (exact.startsWith('s')) return text;
  if (JSON.stringify(Number(text)) === text) return Number(text);
  inexact.push(text);
  return /[.]|e-/i.test(text) ? 0.5 : 1;
}

/** Undefined: its exponent is too long to reckon with, or it is no number. */
function decimalOf(text: string): Decimal | undefined {
  const [, sign = '', whole, fraction = '', power = '0'] = NUMBER.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const all = whole + fraction;
  let [from, to] = [0, all.length];
  while (from < to && all[from] === '0') from += 1;
  while (to > from && all[to - 1] === '0') to -= 1;
  if (from === to) return { sign: '', digits: '0', exponent: 0 };
  if (power.length > EXPONENT_DIGITS) return undefined;
  return { sign, digits: all.slice(from, to), exponent: Number(power) - fraction.length + all.length - to };
}

function isSame(a: Decimal, b: Decimal | undefined): boolean {
  return a.sign === b?.sign && a.digits === b.digits && a.exponent === b.exponent;
}
