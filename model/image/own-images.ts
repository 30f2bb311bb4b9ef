import type { HostRecord } from '../host.ts';

/** Sources that are built on demand, with the command; worker/config/artifacts.mjs has their images. */
const PULLED: Record<string, string> = {
  'golden-agent': 'mayfly image pull agent',
  'desktop-debian12': 'mayfly image pull desktop',
};

/** Reports whether a source is one of Mayfly's own images, which contain everything Mayfly needs in a guest. */
export function isMayflyImage(source: string): boolean {
  return source === 'golden-debian12' || Object.hasOwn(PULLED, source);
}

/** Explains that no live host has a source, and how to build it if possible. */
export function describeMissingSource(source: string, live: readonly Pick<HostRecord, 'kind'>[]): string {
  const missing = `No host has a source named ${JSON.stringify(source)}.`;
  const pull = Object.hasOwn(PULLED, source) ? PULLED[source] : undefined;
  if (pull === undefined) return missing;
  if (live.every(({ kind }) => kind === 'simulated')) {
    return `${missing} It is an image of virtual machines, which simulated hosts have not: there, golden-debian12 has the programs of the machine itself.`;
  }
  return `${missing} It is built when somebody asks for it: \`${pull}\`, on the host.`;
}
