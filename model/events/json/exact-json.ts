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
