import type { Sandbox, Snapshot } from '../../clients/typescript/http/openapi.ts';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { isSnapshotId } from '../../model/ids.ts';
import { idOrName } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { everyItem } from '../terminal/list.ts';

/** Description of an argument that takes a snapshot. */
export const SNAPSHOT = 'Id of a snapshot, or its name: NAME or SANDBOX/NAME';

/** Names that the API accepts for new snapshots. */
const SNAPSHOT_NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
/** States in which a snapshot is found by its name. */
const HAS_NAME: Snapshot['state'][] = ['creating', 'ready'];

/**
 * Finds the id of a sandbox by its name: the living one, else the one that ended last.
 * @throws MayflyApiError sandbox_not_found
 */
export async function findSandboxId(client: MayflyClient, text: string, signal: AbortSignal): Promise<string> {
  try {
    return await client.sandboxIdOf(idOrName(text), { signal });
  } catch (error) {
    if (!(error instanceof MayflyApiError) || error.code !== 'sandbox_not_found') throw error;
    for await (const { id, name } of everyItem((page) => client.listSandboxes(page), signal)) {
      if (name === text) return id;
    }
    throw error;
  }
}

/** Yields the snapshots of all living sandboxes, or of all recorded ones, newest first. */
export async function* snapshotsOfAll(client: MayflyClient, isAlive: boolean, signal: AbortSignal) {
  const which = isAlive && { alive: true as const };
  const names = new Map<string, string | null>();
  const sandboxes = everyItem<Sandbox>((page) => client.listSandboxes({ ...page, ...which }), signal);
  for await (const { id, name } of sandboxes) names.set(id, name);
  for await (const snapshot of everyItem((page) => client.snapshots.listAll(page), signal)) {
    const sandboxName = names.get(snapshot.sandboxId);
    if (!isAlive || sandboxName !== undefined) yield { ...snapshot, sandboxName: sandboxName ?? null };
  }
}

/** Returns the text when it is an id or can name a snapshot, alone or after `sandbox/`. @throws CliError */
export function snapshotIdOrName(text: string): string {
  const [name = '', sandbox, ...rest] = text.split('/').toReversed();
  if (isSnapshotId(text)) return text;
  if (rest.length === 0 && SNAPSHOT_NAME.test(name) && !/^[a-z]{3}-/.test(name)) {
    if (sandbox !== undefined) idOrName(sandbox);
    return text;
  }
  throw usageError(
    `${JSON.stringify(text)} is neither the id nor the name of a snapshot`,
    'List them with `mayfly snapshot list`; one of a certain sandbox is SANDBOX/NAME.',
  );
}

/**
 * Finds the id of a snapshot by its name.
 * @param text `name`, `sandbox/name`, or an id
 * @param sandboxId its sandbox, if known
 * @throws CliError when there is none, or several sandboxes have one
 */
export async function findSnapshotId(
  client: MayflyClient,
  text: string,
  signal: AbortSignal,
  sandboxId?: string,
): Promise<string> {
  if (isSnapshotId(snapshotIdOrName(text))) return text;
  const [name = '', sandbox] = text.split('/').toReversed();
  const of = sandbox === undefined ? sandboxId : await findSandboxId(client, sandbox, signal);
  const candidates = of
    ? everyItem((page) => client.snapshots.list(of, page), signal)
    : snapshotsOfAll(client, true, signal);
  const found: Snapshot[] = [];
  for await (const snapshot of candidates) {
    if (snapshot.name === name && HAS_NAME.includes(snapshot.state)) found.push(snapshot);
  }
  const [only, ...others] = found;
  if (only && others.length === 0) return only.id;
  if (only) {
    const choices = found.map((one) => `${one.sandboxId}/${name}`).join(', ');
    throw usageError(`several sandboxes have a snapshot ${name}`, `Say which: ${choices}.`);
  }
  const where = of === undefined ? 'no sandbox that lives has' : `${of} has no`;
  throw new CliError(
    EXIT.notFound,
    `There is no snapshot ${name}`,
    `${where} ${of === undefined ? 'one ' : 'snapshot '}of that name`,
    'List them with `mayfly snapshot list --all`.',
  );
}
