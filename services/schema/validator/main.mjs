// @ts-check
/**
 * Program of `ValidatorProcess`: compiles schemas, and validates data. Plain JavaScript, which Node 20 runs without a
 * loader, in half the memory.
 *
 * @module
 */
import { CompiledSchemas } from './compiled-schemas.mjs';
import { InvalidSchema, readSchema } from './schema.mjs';

/** @typedef {import('../messages.ts').Question} Question */
/** @typedef {import('../messages.ts').Answer} Answer */
/** @typedef {import('../messages.ts').ValidatorMessage} Said */

const compiled = new CompiledSchemas();

/** @param {Said} said */
const say = (said) => process.send?.(said);

/**
 * @param {Question} question
 * @returns {Answer}
 */
function answerTo({ schema, digest, data, exact }) {
  try {
    if (digest === undefined || data === undefined) {
      readSchema(schema);
      return { problems: [] };
    }
    return { problems: compiled.of(digest, schema).problemsOf({ data, exact }, (doing) => say({ said: doing })) };
  } catch (error) {
    if (error instanceof InvalidSchema) return { invalid: error.problem };
    throw error;
  }
}

process.on('message', (/** @type {Question} */ question) => say({ said: 'answer', answer: answerTo(question) }));
process.on('disconnect', () => process.exit());
readSchema('{}'); // compiles the meta-schema ahead of the first question
say({ said: 'ready' });
