import { expect } from 'vitest';
import { unprovenLayers } from '../../model/sandbox/layers.ts';
import type { SandboxRecord } from '../../model/sandbox/sandbox.ts';

/** Asserts that the sandbox has a proof, and that the proof covers all layers. */
export function expectProof({ proof }: Pick<SandboxRecord, 'proof'>): void {
  expect(proof).not.toBeNull();
  expect(unprovenLayers(proof?.observations ?? [])).toEqual([]);
}
