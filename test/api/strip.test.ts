import { z } from '@hono/zod-openapi';
import { expect, test } from 'vitest';
import { strip } from '../../api/schema/strip.ts';

const disk = z.object({ bytes: z.int().min(1_024), label: z.string().optional() });
const answer = z.object({
  id: z.string(),
  disks: z.array(disk),
  main: disk.nullable(),
  labels: z.record(z.string(), z.object({ text: z.string() })),
  state: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('up'), since: z.string() }),
    z.object({ kind: z.literal('down'), why: z.enum(['full']) }),
  ]),
});

test('an answer has only the fields of its schema, at any depth', () => {
  const record = {
    id: 'a',
    secretHash: 'b',
    disks: [{ bytes: 2_048, path: '/srv' }],
    main: null,
    labels: { one: { text: 't', from: '/srv' } },
    state: { kind: 'up' as const, since: 'now', pid: 7 },
  };
  expect(strip(answer, record)).toEqual({
    id: 'a',
    disks: [{ bytes: 2_048 }],
    main: null,
    labels: { one: { text: 't' } },
    state: { kind: 'up', since: 'now' },
  });
});

test("stored values beyond today's bounds are answered as they are, without internal fields", () => {
  const state = { kind: 'down', why: 'gone', pid: 7 } as unknown as { kind: 'down'; why: 'full' };
  const record = { id: 'a', disks: [{ bytes: 1, path: '/srv' }], main: { bytes: 0, path: '/' }, labels: {}, state };
  expect(strip(answer, record)).toEqual({
    id: 'a',
    disks: [{ bytes: 1 }],
    main: { bytes: 0 },
    labels: {},
    state: { kind: 'down', why: 'gone' },
  });
});
