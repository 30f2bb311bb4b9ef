import { sha256Hex } from '../digest.ts';
import type { Placed } from './context.ts';
import type { CopyStep, Step } from './plan.ts';

/** Whatever changes what a step does changes this. */
const FORM = 'mayfly-image-step-3';

/** Where all keys of a build begin: another project, or another content of its source, has others. */
export function originKey(project: string, content: string): string {
  return digest([FORM, project, content]);
}

/**
 * What a step makes of what its parent made: of the same, the same. In it are the instruction after substitution, the
 * variables that it is given, and what is copied, by paths, types, modes, bytes and what links say. No times, no secrets.
 */
export function stepKey(parent: string, step: Step, placed: readonly Placed[], fromKey: string | null): string {
  switch (step.kind) {
    case 'workdir':
      return digest([parent, 'workdir', step.path, ...(step.user === 'root' ? [] : [step.user])]);
    case 'run': {
      const { argv, stdin, env, cwd, user, secrets, caches = [] } = step;
      const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
      const mounts = secrets.map(({ id, target, mode, owner }) => [id, target, mode, owner]);
      const empty = caches.map(({ target, mode, owner }) => [target, mode, owner]);
      return digest([parent, 'run', argv, stdin, variables, cwd, user, mounts, ...(empty.length > 0 ? [empty] : [])]);
    }
    case 'root':
      return digest([parent, 'root', step.layers.map(({ entry, diffId }) => [entry.digest, diffId])]);
    case 'copy':
      return digest([parent, 'copy', ...copied(step, placed, fromKey)]);
  }
}

function copied({ target, owner, mode, inline, sources }: CopyStep, placed: readonly Placed[], from: string | null) {
  const things = placed.map(({ as, entry: { path, type, mode: own, size, digest: bytes, link } }) => {
    // the name of a single file is its own where the target turns out to be a folder
    const name = as === '' ? path.split('/').at(-1) : as;
    return [as === '', name, type, own, size, bytes, link];
  });
  const files = inline.map(({ name, content }) => [name, content]);
  return [target, owner, mode, from, from === null ? null : sources, files, things];
}

function digest(value: unknown): string {
  return sha256Hex(JSON.stringify(value));
}
