import { LIMITS } from '../../model/limits.ts';

export interface Preference {
  /** How long the caller waits for the end of the saga. Seconds; 0: not at all. */
  seconds: number;
  /** What to say in `Preference-Applied`; null when nothing was preferred. */
  applied: string | null;
}

/**
 * How long to wait, from the header `Prefer` (RFC 7240 §4.1 and §4.3). A preference that cannot be read is ignored,
 * as §2 says; a longer wait than we grant is cut. `@default` 60 s
 */
export function preferenceOf(prefer: string | undefined): Preference {
  const preferences = (prefer ?? '').split(',').map((text) => text.trim().toLowerCase());
  const waits = preferences.map((text) => /^wait\s*=\s*"?(\d{1,9})"?\s*(?:;.*)?$/.exec(text)?.[1]);
  const wait = waits.find((seconds) => seconds !== undefined);
  if (wait !== undefined) {
    const seconds = Math.min(Number(wait), LIMITS.waitSeconds.max);
    return { seconds, applied: `wait=${seconds}` };
  }
  if (preferences.includes('respond-async')) return { seconds: 0, applied: 'respond-async' };
  return { seconds: LIMITS.waitSeconds.default, applied: null };
}
