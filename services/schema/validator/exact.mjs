// @ts-check
/** @module Keywords that compare numbers by their decimal digits, which may exceed a double. */
import { isDeepStrictEqual } from 'node:util';

/** @typedef {{ sign: number, digits: bigint, text: string, exponent: bigint }} Decimal */

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** @type {unknown} Current data, in the form of `exactValue` of model/events/json/exact-json.ts. */
let present = null;

/** @param {unknown} exact Data of the next validation. */
export function setExactData(exact) {
  present = exact;
}

/** @type {Record<string, (limit: Decimal, value: Decimal) => boolean>} */
const LIMITS = {
  minimum: (limit, value) => compared(value, limit) >= 0,
  maximum: (limit, value) => compared(value, limit) <= 0,
  exclusiveMinimum: (limit, value) => compared(value, limit) > 0,
  exclusiveMaximum: (limit, value) => compared(value, limit) < 0,
  multipleOf: (divisor, value) => isMultiple(value, divisor),
};
const SIGNS = { minimum: '>=', maximum: '<=', exclusiveMinimum: '>', exclusiveMaximum: '<', multipleOf: 'multiple of' };

/**
 * Replaces the numeric keywords of an Ajv.
 *
 * @param {import('ajv').default} ajv
 */
export function addExactKeywords(ajv) {
  for (const [keyword, sign] of Object.entries(SIGNS)) {
    replace(ajv, keyword, 'number', (limit, value) =>
      LIMITS[keyword]?.(decimalOf(tagged(limit)), decimalOf(value)) ? null : { message: `must be ${sign} ${limit}` },
    );
  }
  replace(ajv, 'const', undefined, (allowedValue, value) =>
    isDeepStrictEqual(tagged(allowedValue), value) ? null : { params: { allowedValue } },
  );
  replace(ajv, 'enum', undefined, (allowedValues, value) =>
    allowedValues.some((/** @type {unknown} */ one) => isDeepStrictEqual(tagged(one), value))
      ? null
      : { params: { allowedValues } },
  );
  replace(ajv, 'uniqueItems', 'array', (isWanted, value) => {
    const items = /** @type {unknown[]} */ (value);
    const isTwice = items.some((one, at) => items.slice(0, at).some((other) => isDeepStrictEqual(one, other)));
    return isWanted && isTwice ? { message: 'must NOT have duplicate items' } : null;
  });
}

/**
 * @param {import('ajv').default} ajv
 * @param {string} keyword
 * @param {import('ajv').JSONType | undefined} type
 * @param {(schema: any, exact: unknown) => Partial<import('ajv').ErrorObject> | null} problemOf
 */
function replace(ajv, keyword, type, problemOf) {
  /** @type {import('ajv').SchemaValidateFunction} */
  const validate = (schema, data, _parent, cxt) => {
    // Property names have no instance path; apart from numbers `tagged` is exact.
    const isName = typeof data !== 'number' && (typeof data !== 'object' || data === null);
    const problem = problemOf(schema, isName ? tagged(data) : exactAt(cxt?.instancePath ?? ''));
    validate.errors = problem ? [{ keyword, params: {}, ...problem }] : [];
    return problem === null;
  };
  ajv.removeKeyword(keyword).addKeyword({ keyword, ...(type && { type }), validate, errors: true });
}

/** @param {string} pointer */
function exactAt(pointer) {
  let at = /** @type {any} */ (present);
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    at = Array.isArray(at) ? at[Number(name)] : at[`s${name}`];
  }
  return at;
}

/**
 * @param {unknown} value
 * @returns {unknown} in the form of `exactValue`
 */
function tagged(value) {
  if (typeof value === 'string') return `s${value}`;
  if (typeof value === 'number') return `n${JSON.stringify(value)}`;
  if (Array.isArray(value)) return value.map(tagged);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [`s${name}`, tagged(inner)]));
}

/**
 * @param {unknown} exact `n` and a number
 * @returns {Decimal} `digits` × 10^`exponent`, without zeros at either end
 */
function decimalOf(exact) {
  const [, sign, whole = '0', fraction = '', power = '0'] = NUMBER.exec(String(exact).slice(1)) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  const text = all.replace(/0+$/, '');
  const exponent = BigInt(power.replace('+', '')) + BigInt(all.length - text.length - fraction.length);
  return { sign: text === '' ? 0 : sign === '-' ? -1 : 1, text, digits: BigInt(text || 0), exponent };
}

/**
 * @param {Decimal} a
 * @param {Decimal} b
 */
function compared(a, b) {
  if (a.sign !== b.sign || a.sign === 0) return a.sign - b.sign;
  const magnitude = BigInt(a.text.length - b.text.length) + a.exponent - b.exponent;
  if (magnitude !== 0n) return magnitude > 0n ? a.sign : -a.sign;
  return a.text === b.text ? 0 : a.text > b.text ? a.sign : -a.sign;
}

/**
 * @param {Decimal} value
 * @param {Decimal} divisor
 */
function isMultiple(value, divisor) {
  if (value.sign === 0) return true;
  const shift = value.exponent - divisor.exponent;
  // The digits of a value do not end in zero, so no power of ten divides them.
  if (shift < 0n) return false;
  let [rest, base] = [value.digits % divisor.digits, 10n % divisor.digits];
  for (let left = shift; left > 0n; left >>= 1n) {
    if (left & 1n) rest = (rest * base) % divisor.digits;
    base = (base * base) % divisor.digits;
  }
  return rest === 0n;
}
