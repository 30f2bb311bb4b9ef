import { z } from '@hono/zod-openapi';

/**
 * Strips a value to the fields of a response schema, so that no internal field leaks. Checks no bounds: values stored
 * under other limits pass.
 */
export function strip<T extends z.ZodType>(schema: T, value: z.input<T>): z.output<T> {
  return stripValue(schema, value) as z.output<T>;
}

function stripValue(schema: z.core.$ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodObject) return isFields(value) ? fieldsOf(schema, value) : value;
  if (schema instanceof z.ZodArray)
    return Array.isArray(value) ? value.map((item) => stripValue(schema.element, item)) : value;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return value === null ? null : stripValue(schema.unwrap(), value);
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return value === undefined ? schema.parse(value) : stripValue(schema.unwrap(), value);
  if (schema instanceof z.ZodPipe) return stripValue(schema.in, value);
  if (schema instanceof z.ZodUnion) return stripValue(optionFor(schema, value), value);
  if (schema instanceof z.ZodRecord && isFields(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, stripValue(schema.valueType, one)]));
  return value;
}

function fieldsOf({ shape }: z.ZodObject, value: Record<string, unknown>): object {
  const fields = Object.entries(shape).map(([name, field]) => [name, stripValue(field, value[name])] as const);
  return Object.fromEntries(fields.filter(([, one]) => one !== undefined));
}

/** Returns the option that the value matches; else the one that shares most fields with it. */
function optionFor({ options }: z.ZodUnion, value: unknown): z.core.$ZodType {
  const shared = (option: z.core.$ZodType) =>
    option instanceof z.ZodObject && isFields(value)
      ? Object.keys(option.shape).filter((name) => name in value).length
      : 0;
  const met = options.find((option) => z.safeParse(option, value).success);
  return met ?? options.toSorted((one, other) => shared(other) - shared(one))[0] ?? z.unknown();
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
