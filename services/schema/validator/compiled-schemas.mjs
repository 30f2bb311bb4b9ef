// @ts-check
/** @module Cache of compiled schemas by digest. */

import { setExactData } from './exact.mjs';
import { problemsOf } from './problems.mjs';
import { compile, readSchema } from './schema.mjs';

/** @typedef {import('../messages.ts').Problem} Problem */
/** @typedef {import('../messages.ts').ValidatorStep} Doing */
/** @typedef {import('ajv').ValidateFunction} Validate */

/** Limit of cached schemas, LRU. */
const KEPT = 100;
/**
 * Limit of data whose problems are all collected, each of which takes memory; beyond it, the first. Characters of JSON.
 */
const ALL_PROBLEMS_OF = 32_768;

export class CompiledSchemas {
  /** @type {Map<string, CompiledSchema>} most recently used last */
  #kept = new Map();

  /**
   * @param {string} digest
   * @param {string} text
   * @throws InvalidSchema
   */
  of(digest, text) {
    const known = this.#kept.get(digest) ?? new CompiledSchema(text);
    this.#kept.delete(digest);
    this.#kept.set(digest, known);
    for (const oldest of this.#kept.keys()) if (this.#kept.size > KEPT) this.#kept.delete(oldest);
    return known;
  }
}

class CompiledSchema {
  /** @type {Validate} stops at the first problem */
  #first;
  /** @type {Validate | null} */
  #all = null;
  /** @type {Validate | null} compares numbers that a double cannot hold */
  #exact = null;
  #text;

  /**
   * @param {string} text
   * @throws InvalidSchema
   */
  constructor(text) {
    this.#text = text;
    this.#first = readSchema(text);
  }

  /**
   * @param {{ data: string, exact?: string | undefined }} texts
   * @param {(doing: Doing) => void} now called before each step
   * @returns {Problem[]}
   */
  problemsOf({ data: text, exact }, now) {
    now('validates');
    const data = JSON.parse(text);
    try {
      if (exact !== undefined) return this.#exactProblemsOf(data, exact, now);
      if (this.#first(data)) return [];
      if (text.length > ALL_PROBLEMS_OF) return problemsOf(this.#first);
      if (this.#all === null) {
        now('compiles');
        this.#all = compile(JSON.parse(this.#text), { allErrors: true });
        now('validates');
      }
      this.#all(data);
      return problemsOf(this.#all);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return [{ field: '', problem: 'is nested too deeply, or a `$ref` of the schema refers to itself' }];
    }
  }

  /**
   * @param {unknown} data
   * @param {string} exact
   * @param {(doing: Doing) => void} now
   */
  #exactProblemsOf(data, exact, now) {
    if (this.#exact === null) {
      now('compiles');
      this.#exact = compile(JSON.parse(this.#text), { allErrors: false, isExact: true });
      now('validates');
    }
    setExactData(JSON.parse(exact));
    return this.#exact(data) ? [] : problemsOf(this.#exact);
  }
}
