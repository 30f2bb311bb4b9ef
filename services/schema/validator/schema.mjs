// @ts-check
/** @module Parser of JSON Schemas of draft 2020-12, with Ajv. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { addExactKeywords } from './exact.mjs';
import { pointerTo } from './pointer.mjs';
import { problemsOf } from './problems.mjs';

/** @typedef {import('../messages.ts').Problem} Problem */

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
/** Limit of a message, characters; a pattern or a reference can be longer. */
const SHOWN = 300;

/**
 * Options by the standard: unknown keywords and `format` are annotations (Core §4.3.1, Validation §7.2.1); only own
 * properties count. Without inlined references the code stays proportional to the schema; optimizing it would take more
 * than half of the time.
 *
 * @satisfies {import('ajv').Options}
 */
const OPTIONS = {
  strict: false,
  validateFormats: false,
  unicodeRegExp: true,
  ownProperties: true,
  inlineRefs: false,
  code: { optimize: false },
  logger: false,
};

/** Validator of schemas. */
const dialect = new Ajv2020(OPTIONS);

export class InvalidSchema extends Error {
  /** @param {Problem} problem */
  constructor({ field, problem }) {
    super(problem);
    this.problem = { field, problem: problem.length > SHOWN ? `${problem.slice(0, SHOWN)}…` : problem };
  }
}

/**
 * @param {string} text
 * @throws InvalidSchema
 */
export function readSchema(text) {
  const schema = JSON.parse(text);
  if ((schema.$schema ?? DIALECT).replace?.(/#$/, '') !== DIALECT) {
    throw new InvalidSchema({ field: '/$schema', problem: `must be ${DIALECT}` });
  }
  if (schema.$async === true) {
    throw new InvalidSchema({ field: '/$async', problem: 'must not be there: it means something to Ajv alone' });
  }
  if (dialect.validateSchema(schema) !== true) {
    throw new InvalidSchema(problemsOf(dialect)[0] ?? { field: '', problem: 'is not valid' });
  }
  try {
    return compile(schema, { allErrors: false });
  } catch (error) {
    throw new InvalidSchema(problemOf(schema, error));
  }
}

/**
 * Compiles a schema with an Ajv of its own, so that no schema can refer to another's `$id`. It fetches nothing.
 *
 * @param {import('ajv').AnySchema} schema
 * @param {{ allErrors: boolean, isExact?: boolean }} options
 */
export function compile(schema, { isExact, ...options }) {
  const ajv = new Ajv2020({ ...OPTIONS, ...options, validateSchema: false });
  if (isExact) addExactKeywords(ajv);
  return ajv.compile(schema);
}

/**
 * @param {unknown} schema
 * @param {unknown} error of Ajv
 * @returns {Problem} with its position, where that can be found
 */
function problemOf(schema, error) {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError) return { field: '', problem: 'refers to itself in a way that cannot be compiled' };
  if (error instanceof SyntaxError) {
    const field = pointerTo(schema, (key, value, parent) => {
      return parent === 'patternProperties' ? !isPattern(key) : key === 'pattern' && !isPattern(value);
    });
    return { field, problem: `has no regular expression of ECMAScript with the flag u: ${message}` };
  }
  const reference = /^can't resolve reference (.*) from id /su.exec(message)?.[1];
  if (reference === undefined) return { field: '', problem: `cannot be compiled: ${message}` };
  const field = pointerTo(schema, (key, value) => /^\$(dynamicR|r)ef$/u.test(key) && value === reference);
  return { field, problem: `refers to ${reference}, which is not in the schema; none is fetched` };
}

/** @param {unknown} value */
function isPattern(value) {
  try {
    return typeof value !== 'string' || new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
