import type { Layer } from '../model/sandbox/layers.ts';
import type { Observation } from '../model/sandbox/proof.ts';

/** Returns an observation of a layer, dated now. @param found descriptions; empty: the layer is absent */
export function toObservation(layer: Layer, lookedAt: string, found: readonly string[]): Observation {
  const at = new Date().toISOString();
  if (found.length === 0) return { layer, lookedAt, absent: true, at };
  return { layer, lookedAt, absent: false, found: found.join(', '), at };
}
