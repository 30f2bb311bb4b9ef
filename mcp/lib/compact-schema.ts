import type { z } from 'zod';

type Members = Record<string, unknown>;

/** Bounds that nobody plans by; who passes one is told. */
const UNTOLD = new Set(['$schema', 'minLength', 'maxLength', 'minItems', 'maxItems']);

/** Without what says little: the dialect that is meant anyway, lengths, bounds of what is counted, and of what JavaScript counts. */
function compacted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compacted);
  if (typeof value !== 'object' || value === null) return value;
  // Who has a default rarely plans by the bounds beside it.
  const isBounded = typeof (value as Members)['default'] === 'number';
  const kept = Object.entries(value as Members).filter(
    ([name, member]) => isTold(name, member) && !(isBounded && (name === 'minimum' || name === 'maximum')),
  );
  return Object.fromEntries(kept.map(([name, member]) => [name, compacted(member)]));
}

function isTold(name: string, member: unknown): boolean {
  if (UNTOLD.has(name)) return false;
  if (name === 'additionalProperties') return member !== false;
  if (name === 'propertyNames') return JSON.stringify(member) !== '{"type":"string"}';
  if (name === 'minimum') return member !== 0 && member !== 1 && member !== Number.MIN_SAFE_INTEGER;
  return name !== 'maximum' || member !== Number.MAX_SAFE_INTEGER;
}

/** What an answer has is all there, so which of it is needs no second list; a property of that name keeps its place. */
function allThere(value: unknown, isTyped: boolean, isProperties = false): unknown {
  if (Array.isArray(value)) return value.map((each) => allThere(each, isTyped));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value as Members).filter(
    ([name, member]) => isProperties || !(name === 'required' || (name === 'type' && !isTyped && isScalar(member))),
  );
  return Object.fromEntries(
    kept.map(([name, member]) => [name, allThere(member, isTyped, !isProperties && name === 'properties')]),
  );
}

function isScalar(type: unknown): boolean {
  return [type].flat().every((each) => each !== 'object' && each !== 'array');
}

/**
 * The same schema, which tells clients less: all tools together have to find room in what a model reads.
 * @param isTyped whether texts and numbers that come out are told apart. `@default` true
 */
export function compact<T extends z.ZodObject>(schema: T, isTyped = true): T {
  const standard = schema['~standard'];
  const { input, output } = standard.jsonSchema;
  const jsonSchema = {
    input: (options: Parameters<typeof input>[0]) => compacted(input(options)) as ReturnType<typeof input>,
    output: (options: Parameters<typeof output>[0]) =>
      allThere(compacted(output(options)), isTyped) as ReturnType<typeof output>,
  };
  return Object.create(schema, { '~standard': { value: { ...standard, jsonSchema } } }) as T;
}
