import { describe, expect } from 'vitest';
import type { MachineEnd } from '../../model/sandbox/machine-end.ts';
import { expectMachineEnded, getMemory } from '../support/machine-end.ts';
import { useSagaCases } from '../support/saga-cases.ts';

/** The host worker watches its machines, as in every saga test: an end by Mayfly is not a death. */
const { test } = useSagaCases({ kind: 'in-memory' });

const CODES: [MachineEnd, string][] = [
  ['stopped', 'machine_stopped'],
  ['crashed', 'machine_crashed'],
  ['lost', 'machine_lost'],
  ['io-error', 'machine_io_error'],
];

describe.concurrent('a machine that dies', () => {
  for (const [end, code] of CODES) {
    test(`${end}: ends its sandbox as ${code}, with the proof`, async ({ mayfly, operations }) => {
      const { id } = await mayfly.create();
      getMemory(mayfly).die(id, end);
      await expectMachineEnded(mayfly, id, code);
      const told = await operations.told(id);
      expect(told.map(({ detail }) => detail)).toContainEqual(
        expect.objectContaining({
          state: 'destroying',
          reason: 'machine-ended',
          failure: expect.objectContaining({ code }),
        }),
      );
      await expect(operations.snapshot(id)).rejects.toMatchObject({ code: 'sandbox_ended' });
    });
  }
});
