import type { HostRef } from '../host.ts';

/** The five kinds of residue a sandbox can leave, in the order in which destroy removes them. */
export const LAYERS = ['credentials', 'domain', 'lease', 'workspace', 'record'] as const;
export type Layer = (typeof LAYERS)[number];

/** What stands in the place of looks at a host that is given up. */
export function unprovedObservations(hostId: string, at: string) {
  const lookedAt = `nothing: ${hostId} was forgotten`;
  return LAYERS.map((layer) => ({ layer, lookedAt, absent: false, found: 'unproved', at }));
}

/** Why nothing is proved of it. @param hostIds the hosts that were given up, of those that it may have something on */
export function unprovedSince(hostIds: readonly string[]): string {
  return `unproved: ${hostIds.join(', ')} ${hostIds.length === 1 ? 'was' : 'were'} forgotten, and nobody can look there`;
}

/** The layers in which the observations found something, or which nobody looked at. */
export function unprovenLayers(observations: readonly { layer: Layer; absent: boolean }[]): Layer[] {
  return LAYERS.filter((layer) => {
    const looks = observations.filter((o) => o.layer === layer);
    return looks.length === 0 || looks.some((o) => !o.absent);
  });
}

/** An observation that another than the host meant has made: of a sandbox that it never had, so it says nothing. */
export function foreignLook<O extends { layer: Layer; by?: HostRef }>(
  observations: readonly O[],
  { hostId, installationId }: HostRef,
): O | null {
  return observations.find(({ by }) => by?.hostId !== hostId || by.installationId !== installationId) ?? null;
}
