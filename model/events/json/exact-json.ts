const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Longest exponent that is evaluated: a double counts it exactly. */
const EXPONENT_DIGITS = 15;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Decimal number: `digits` × 10^`exponent`. */
interface Decimal {
  sign: string;
  digits: string;
  exponent: number;
}

/**
 * Returns the canonical text of a JSON number without loss of precision: `1.10` is `1.1`, 9007199254740993 stays.
 * Numbers that a double represents exactly get their ECMAScript form.
 */
export function canonicalizeNumber(text: string): string {
  const decimal = parseDecimal(text);
  if (!decimal) return text;
  const short = JSON.stringify(Number(text));
  if (isSame(decimal, parseDecimal(short))) return short;
  const { sign, digits, exponent } = decimal;
  return `${sign}${digits}${exponent === 0 ? '' : `e${exponent}`}`;
}

/**
 * Parses JSON with each number as a tagged canonical string, so that different numbers stay different.
 * @param json well-formed
 */
export function parseExactJson(json: string): unknown {
  const tagged = json.replace(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') ? `"s${token.slice(1)}` : `"n${canonicalizeNumber(token)}"`,
  );
  return JSON.parse(tagged);
}

/** JSON texts of data with numbers that a double cannot represent. */
interface ExactData {
  /** {@link parseExactJson} of the data. */
  exact: string;
  /** Data with 1 or 0.5 in place of each such number: 1 for an integer. */
  plain: string;
  /** First of these numbers. */
  first: string;
}

/** Long digits or a long exponent; without them a double represents every number of a text. */
const MAY_BE_INEXACT = /\d[\d.]{15}|[eE][+-]?\d{3}/;

/** Returns both forms when a double cannot represent each number of the data, else null. @param json well-formed */
export function splitInexactNumbers(json: string): ExactData | null {
  if (!MAY_BE_INEXACT.test(json)) return null;
  const exact = parseExactJson(json);
  const inexact: string[] = [];
  const plain = replaceInexactNumbers(exact, inexact);
  const [first] = inexact;
  return first === undefined ? null : { exact: JSON.stringify(exact), plain: JSON.stringify(plain), first };
}

function replaceInexactNumbers(exact: unknown, inexact: string[]): unknown {
  if (Array.isArray(exact)) return exact.map((item) => replaceInexactNumbers(item, inexact));
  if (typeof exact === 'object' && exact !== null) {
    return Object.fromEntries(
      Object.entries(exact).map(([name, value]) => [name.slice(1), replaceInexactNumbers(value, inexact)]),
    );
  }
  if (typeof exact !== 'string') return exact;
  const text = exact.slice(1);
  if (exact.startsWith('s')) return text;
  if (JSON.stringify(Number(text)) === text) return Number(text);
  inexact.push(text);
  return /[.]|e-/i.test(text) ? 0.5 : 1;
}

/** Undefined: not a number, or its exponent is too long. */
function parseDecimal(text: string): Decimal | undefined {
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
