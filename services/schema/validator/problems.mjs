// @ts-check
/** @module Problems of data, from errors of Ajv. */
import { escaped } from './pointer.mjs';

/** @typedef {import('../messages.ts').Problem} Problem */
/** @typedef {import('ajv').ErrorObject} Found */

const MOST = 20;
/** Limit of a position or a message, characters: names are the sender's, patterns and values the schema's. */
const SHOWN = 300;
/** Keywords whose errors only repeat errors of their subschemas. */
const ENCLOSING = ['if', 'propertyNames'];

/**
 * @param {{ errors?: Found[] | null }} validator that has refused
 * @returns {Problem[]} at most 20, without duplicates
 */
export function problemsOf({ errors }) {
  /** @type {Map<string, Problem>} */
  const problems = new Map();
  for (const error of errors ?? []) {
    if (problems.size === MOST) break;
    if (ENCLOSING.includes(error.keyword)) continue;
    const problem = { field: bounded(fieldOf(error)), problem: bounded(sentenceOf(error)) };
    problems.set(JSON.stringify(problem), problem);
  }
  return [...problems.values()];
}

/**
 * Returns the pointer to a missing, surplus or misnamed property itself, not to its object.
 *
 * @param {Found} error
 */
function fieldOf({ instancePath, propertyName, params }) {
  const name =
    propertyName ?? params['missingProperty'] ?? params['additionalProperty'] ?? params['unevaluatedProperty'];
  return typeof name === 'string' ? `${instancePath}/${escaped(name)}` : instancePath;
}

/** @param {Found} error */
function sentenceOf(error) {
  return error.propertyName === undefined ? claimOf(error) : `has a name that ${claimOf(error)}`;
}

/** @param {Found} error */
function claimOf({ keyword, message = 'does not fit', params }) {
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'additionalProperties':
    case 'unevaluatedProperties':
    case 'false schema':
      return 'must not be there';
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`;
    case 'enum':
      return `must be one of ${JSON.stringify(params['allowedValues'])}`;
    default:
      return message;
  }
}

/** @param {string} text */
function bounded(text) {
  const printable = text.replace(/[\p{Cc}\p{Cs}]/gu, '\u{fffd}');
  return printable.length > SHOWN ? `${printable.slice(0, SHOWN)}…` : printable;
}
