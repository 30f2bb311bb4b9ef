import type { Layer } from '../model/sandbox/layers.ts';
import type { Observation } from '../model/sandbox/proof.ts';

/** Makes the observation of a layer at this moment. @param found in words; none: it is absent */
export function observed(layer: Layer, lookedAt: string, found: readonly string[]): Observation {
  const at = new Date().toISOString();
  if (found.length === 0) return { layer, lookedAt, absent: true, at };
  return { layer, lookedAt, absent: false, found: found.join(', '), at };
}
