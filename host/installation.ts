import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { MayflyError } from '../model/errors.ts';
import type { HostKind } from '../model/host.ts';
import { deriveInstallationId, isInstallationId } from '../model/ids.ts';
import { orAbsent } from './os/absent.ts';
import { writeFileAtomic } from './os/atomic-file.ts';
import { readJson } from './os/json-file.ts';
import type { StateDir } from './state-dir.ts';

const Installation = z.strictObject({
  /** Made once, from the host's request key. */
  id: z.string().refine(isInstallationId),
  kind: z.enum(['libvirt', 'simulated']),
  /** Instance of libvirtd that runs its machines, the system's or a private one; null on a simulated host. */
  libvirtd: z.enum(['system', 'private']).nullable(),
  hostUuid: z.string().nullable(),
  machineId: z.string().nullable(),
  madeAt: z.string(),
});
export type Installation = Readonly<z.infer<typeof Installation>>;

export interface DetectedMachine {
  kind: HostKind;
  libvirtd: Installation['libvirtd'];
  /** libvirt's UUID of the machine, or its substitute; null where there is none. */
  hostUuid: string | null;
  /** True when the UUID may change at the next start of libvirtd: neither firmware nor an administrator has set it. */
  mayChange: boolean;
  /** Content of `/etc/machine-id`, written as a UUID; null where there is none (machine-id(5)). */
  machineId: string | null;
}

export function installationFileOf(state: StateDir): string {
  return join(state.root, 'installation.json');
}

/**
 * Returns the installation recorded in the folder; null when no host has served it.
 * @throws MayflyError another_installation when its file is damaged
 */
export async function readInstallation(state: StateDir): Promise<Installation | null> {
  const path = installationFileOf(state);
  return await readJson(path, Installation).catch((cause: unknown) => {
    if (!(cause instanceof SyntaxError || cause instanceof z.ZodError)) throw cause;
    const remedy =
      'Put it back from a backup. Where there is none, remove it: the folder gets a new id, and what was made under the old one has to be forgotten (docs/monitoring.md).';
    const what = `${path} is damaged, so nobody can tell whose sandboxes are here. ${remedy}`;
    throw new MayflyError('another_installation', what, { cause });
  });
}

/**
 * Refuses a machine other than the recorded one: on it, every sandbox would be found gone.
 * @throws MayflyError another_installation
 */
export function assertSameMachine(state: StateDir, known: Installation | null, found: DetectedMachine): void {
  if (!known) return;
  assertSameKind(state, known, found.kind);
  if (known.libvirtd !== found.libvirtd)
    throw refusal(
      state,
      `whose machines run under ${LIBVIRTDS[known.libvirtd ?? 'system']}`,
      `this is ${LIBVIRTDS[found.libvirtd ?? 'system']}`,
    );
  if (isSameMachine(known, found)) return;
  const before = `on the machine with the UUID ${known.hostUuid}`;
  throw refusal(
    state,
    before,
    `this one has ${found.hostUuid}`,
    `A copied folder needs another MAYFLY_HOST_ID and has to begin empty. If this is the machine, with another mainboard say, write its UUID into ${installationFileOf(state)}.`,
  );
}

/** @throws MayflyError another_installation */
export function assertSameKind(state: StateDir, known: Installation | null, kind: HostKind): void {
  if (!known || known.kind === kind) return;
  throw refusal(
    state,
    `of the kind ${known.kind}`,
    `MAYFLY_HOST is ${kind}`,
    `Start it with MAYFLY_HOST=${known.kind}, or use another MAYFLY_STATE_DIR.`,
  );
}

/**
 * Writes the installation that the folder is tied to, with a new id when it has none.
 * @param requestKey the host's public key, from which a new id is made
 */
export async function saveInstallation(
  state: StateDir,
  known: Installation | null,
  { kind, libvirtd, hostUuid, machineId }: DetectedMachine,
  requestKey: string,
): Promise<Installation> {
  if (known && known.hostUuid === hostUuid && known.machineId === machineId) return known;
  const made = known ?? { id: deriveInstallationId(requestKey), madeAt: new Date().toISOString() };
  const installation: Installation = { ...made, kind, libvirtd, hostUuid, machineId };
  await writeFileAtomic(installationFileOf(state), `${JSON.stringify(installation, null, 2)}\n`, 0o600);
  return installation;
}

/** Returns the machine's id as libvirt's UUID (`host_uuid_source = "machine-id"`); null where there is none. */
export async function readMachineId(path = '/etc/machine-id'): Promise<string | null> {
  const text = (await orAbsent(readFile(path, 'utf8')))?.trim() ?? '';
  if (!/^[0-9a-f]{32}$/.test(text)) return null;
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const LIBVIRTDS = { system: "the system's libvirtd", private: 'a libvirtd of its own' } as const;

/** Compares UUIDs; where libvirt makes a new UUID at each start, compares machine ids. */
function isSameMachine(known: Installation, found: DetectedMachine): boolean {
  if (known.hostUuid === null || found.hostUuid === null || known.hostUuid === found.hostUuid) return true;
  return found.mayChange && known.machineId !== null && known.machineId === found.machineId;
}

function refusal(state: StateDir, before: string, now: string, remedy = ''): MayflyError {
  const why = `${state.root} is of an installation ${before}, and ${now}`;
  const danger = 'Here nothing of its sandboxes would be found, whatever is left of them';
  return new MayflyError('another_installation', `${why}. ${danger}. ${remedy}`.trim());
}
