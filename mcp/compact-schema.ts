import type { z } from 'zod';

/** Bounds that nobody plans by; who passes one is told. */
const UNTOLD = new Set(['$schema', 'minLength', 'maxLength', 'minItems', 'maxItems']);

/** Without what says little: the dialect that is meant anyway, lengths, and the bounds of what JavaScript counts. */
function compacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compacted);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([name, member]) =>
      !UNTOLD.has(name) &&
      !(name === 'additionalProperties' && member === false) &&
      !(name === 'propertyNames' && JSON.stringify(member) === '{"type":"string"}') &&
      Math.abs(member) !== Number.MAX_SAFE_INTEGER,
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, compacted(member)]));
}

/** The same schema, which tells clients less: all tools together have to find room in what a model reads. */
export function compact<T extends z.ZodObject>(schema: T): T {
  const standard = schema['~standard'];
  const { input, output } = standard.jsonSchema;
  const jsonSchema = {
    input: (options: Parameters<typeof input>[0]) => compacted(input(options)) as ReturnType<typeof input>,
    output: (options: Parameters<typeof output>[0]) => compacted(output(options)) as ReturnType<typeof output>,
  };
  return Object.create(schema, { '~standard': { value: { ...standard, jsonSchema } } }) as T;
}
