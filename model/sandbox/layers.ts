import type { HostRef } from '../host.ts';

/** Kinds of residue of a sandbox, in the order in which destroy removes them. */
export const LAYERS = ['credentials', 'domain', 'lease', 'workspace', 'record'] as const;
export type Layer = (typeof LAYERS)[number];

/** Returns the observations for a decommissioned host, which cannot be inspected. */
export function unprovedObservations(hostId: string, at: string) {
  const lookedAt = `nothing: ${hostId} was forgotten`;
  return LAYERS.map((layer) => ({ layer, lookedAt, absent: false, found: 'unproved', at }));
}

/** Explains why absence is not proved. @param hostIds decommissioned hosts that may have residue */
export function describeUnproved(hostIds: readonly string[]): string {
  return `unproved: ${hostIds.join(', ')} ${hostIds.length === 1 ? 'was' : 'were'} forgotten, and nobody can look there`;
}

/** Returns the layers with residue, or without an observation. */
export function unprovenLayers(observations: readonly { layer: Layer; absent: boolean }[]): Layer[] {
  return LAYERS.filter((layer) => {
    const looks = observations.filter((o) => o.layer === layer);
    return looks.length === 0 || looks.some((o) => !o.absent);
  });
}

/** Finds an observation made by a host other than the given one, which proves nothing; null: none. */
export function findForeignObservation<O extends { layer: Layer; by?: HostRef }>(
  observations: readonly O[],
  { hostId, installationId }: HostRef,
): O | null {
  return observations.find(({ by }) => by?.hostId !== hostId || by.installationId !== installationId) ?? null;
}
