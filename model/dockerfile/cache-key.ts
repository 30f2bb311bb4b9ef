import { sha256Hex } from '../digest.ts';
import type { CopiedEntry } from './context.ts';
import type { CopyStep, Step } from './plan.ts';

/** Version of the step semantics; a change invalidates all keys. */
const FORM = 'mayfly-image-step-3';

/** Returns the first key of a build; differs by project and by content of the source. */
export function deriveOriginKey(project: string, content: string): string {
  return digest([FORM, project, content]);
}

/**
 * Derives a step's cache key from its parent's key: same input, same key. Covers the instruction after substitution,
 * its variables, and the copied entries by path, type, mode, bytes and link target; no times, no secrets.
 */
export function deriveStepKey(
  parent: string,
  step: Step,
  placed: readonly CopiedEntry[],
  fromKey: string | null,
): string {
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
      return digest([parent, 'copy', ...copyKeyParts(step, placed, fromKey)]);
  }
}

function copyKeyParts(
  { target, owner, mode, inline, sources }: CopyStep,
  placed: readonly CopiedEntry[],
  from: string | null,
) {
  const things = placed.map(({ as, entry: { path, type, mode: own, size, digest: bytes, link } }) => {
    // where the target turns out to be a folder, a single file keeps its name
    const name = as === '' ? path.split('/').at(-1) : as;
    return [as === '', name, type, own, size, bytes, link];
  });
  const files = inline.map(({ name, content }) => [name, content]);
  return [target, owner, mode, from, from === null ? null : sources, files, things];
}

function digest(value: unknown): string {
  return sha256Hex(JSON.stringify(value));
}
