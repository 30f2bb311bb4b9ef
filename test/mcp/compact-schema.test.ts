// Guards: compact schemas keep all constraints that matter to a caller. Costs milliseconds.
import { expect, it } from 'vitest';
import { z } from 'zod';
import { compact } from '../../mcp/lib/tool.ts';

const target = { target: 'draft-2020-12' } as const;
const compacted = compact(
  z.object({
    required: z.string().min(1).optional().describe('a property, and no list'),
    count: z.int().min(0).max(9),
    some: z.int().min(200),
    items: z.array(z.object({ minimum: z.number(), path: z.string().nullable() })),
  }),
)['~standard'].jsonSchema;

it('keeps required properties and all bounds of inputs, except lengths of zero and one', () => {
  expect(compacted.input(target)).toEqual({
    type: 'object',
    properties: {
      required: { type: 'string', description: 'a property, and no list' },
      count: { type: 'integer', maximum: 9 },
      some: { type: 'integer', minimum: 200 },
      items: {
        type: 'array',
        items: {
          type: 'object',
          properties: { minimum: { type: 'number' }, path: expect.anything() },
          required: ['minimum', 'path'],
        },
      },
    },
    required: ['count', 'some', 'items'],
  });
});

it('keeps all properties of outputs, even ones named like a keyword', () => {
  const { required, properties } = compacted.output(target) as { required?: unknown; properties: object };
  expect(required).toBeUndefined();
  expect(properties).toMatchObject({
    required: { type: 'string' },
    items: { items: { type: 'object', properties: { minimum: { type: 'number' } } } },
  });
});
