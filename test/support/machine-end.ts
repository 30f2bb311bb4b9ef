import { expect } from 'vitest';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import type { MayflyCase } from './mayfly-case.ts';

/** @throws Error when the host is not in memory */
export const getMemory = ({ memory }: MayflyCase) => {
  if (!memory) throw new Error('these tests need a machine in memory');
  return memory;
};

/** Asserts that the death of its machine ends the sandbox as failed, with that code and a proof. */
export async function expectMachineEnded(mayfly: MayflyCase, id: string, code: string): Promise<void> {
  const failed = await mayfly.end(id);
  expect(failed).toMatchObject({ state: 'failed', stopReason: 'machine-ended', failure: { code }, waitingFor: null });
  expect(failed.failure?.message).toContain(id);
  expect(unprovenLayers(failed.proof?.observations ?? [])).toEqual([]);
  expect(mayfly.host?.machine.ledger.sandboxIds()).not.toContain(id);
}
