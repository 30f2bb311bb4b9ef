import type { HostRef, Observer } from '../host.ts';

/** The five kinds of residue a sandbox can leave, in the order in which destroy removes them. */
export const LAYERS = ['credentials', 'domain', 'lease', 'workspace', 'record'] as const;
export type Layer = (typeof LAYERS)[number];

/** One look at one layer: what was asked of the machine, and what it answered. */
export interface Observation {
  layer: Layer;
  /** What was looked at, in the terms of the machine: `virsh list --all --name`, a directory, a lease file. */
  lookedAt: string;
  /** Nothing of this sandbox was found there. */
  absent: boolean;
  /** What was found when something was. */
  found?: string;
  /** When the look ended, ISO 8601. */
  at: string;
  /** Who looked, and at which machine; absent where no host was asked. */
  by?: Observer;
}

/** What destroy returns: every layer was looked at after the last removal, and nothing was there. */
export interface Proof {
  sandboxId: string;
  hostId: string | null;
  observations: Observation[];
  /** Time of the last look, ISO 8601. */
  provedAt: string;
  /** Why nobody could look, so that nothing is proved. `@default` everything was looked at */
  unproved?: string;
}

/** What stands in the place of looks at a host that is given up. */
export function unprovedObservations(hostId: string, at: string): Observation[] {
  const lookedAt = `nothing: ${hostId} was forgotten`;
  return LAYERS.map((layer) => ({ layer, lookedAt, absent: false, found: 'unproved', at }));
}

/** Why nothing is proved of it. @param hostIds the hosts that were given up, of those that it may have something on */
export function unprovedSince(hostIds: readonly string[]): string {
  return `unproved: ${hostIds.join(', ')} ${hostIds.length === 1 ? 'was' : 'were'} forgotten, and nobody can look there`;
}

/** The layers in which the observations found something, or which nobody looked at. */
export function unprovenLayers(observations: readonly Observation[]): Layer[] {
  return LAYERS.filter((layer) => {
    const looks = observations.filter((o) => o.layer === layer);
    return looks.length === 0 || looks.some((o) => !o.absent);
  });
}

/** An observation that another than the host meant has made: of a sandbox that it never had, so it says nothing. */
export function foreignLook(
  observations: readonly Observation[],
  { hostId, installationId }: HostRef,
): Observation | null {
  return observations.find(({ by }) => by?.hostId !== hostId || by.installationId !== installationId) ?? null;
}
