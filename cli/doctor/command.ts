import type { Mark } from '../../host/hypervisor.ts';
import { isLive } from '../../model/host.ts';
import type { AuditFault } from '../../store/audit/audit-queue.ts';
import type { Config } from '../../worker/config/config.ts';
import type { Check } from '../../worker/doctor/check.ts';
import { checkInstallationParts, checkStore } from '../../worker/doctor/probes.ts';
import { OTHER_LAYOUT } from '../../worker/doctor/store.ts';
import { HostLock } from '../../worker/machine/host-lock.ts';
import { withOneStoreServer, withPresentStore } from '../../worker/servers/local-store.ts';
import type { SavedKind, SavedResidue } from '../../worker/upkeep/saved-residue.ts';
import { flag, JSON_OPTION } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';
import { checkMachine } from './checks.ts';
import { lookForSuspended, orWhyNot, suspendedLines } from './or-why-not.ts';
import { checkServers, settingsOf } from './servers.ts';

/** What of a sandbox that is not alive was found, and whether `--fix` removed it. */
interface Residue extends Mark {
  removed: boolean;
}

/** What the machine was found to hold and, if so, why it was not removed; or why the machine was not looked at. */
type Look = { residue: Residue[]; notRemoved?: string } | { unknown: string };

const MEND_FIRST = 'first mend what is missing';
/** Too little of these keeps sandboxes from being made, not from being found. */
const NOT_NEEDED_TO_LOOK = ['memory', 'disk', 'disk reserve', 'store is fit', 'store is quick', 'clocks'];

/** `mayfly doctor`: looks at the machine, and lists what should not be on it. */
export const doctorCommand = customCommand({
  args: {
    fix: flag(
      'Remove residue, through the host worker where one runs: only of sandboxes that are not alive, and of snapshots and captures that failed or were deleted',
    ),
    ...JSON_OPTION,
  },
  async run({ io, args }) {
    const { config: given, checks: settings } = await settingsOf(io.env);
    const [machine, servers, store] = await Promise.all([
      checkMachine(given, io.env),
      checkServers(given),
      checkStore(given),
    ]);
    const checks = [...settings, ...machine, ...servers, ...store];
    // Whoever connects to a store brings it up to date, which another version's is not to be by a look.
    if (store.some(({ name }) => name === OTHER_LAYOUT)) return examine(io, given, checks, args);
    return withOneStoreServer(given, (config) => examine(io, config, checks, args));
  },
});

async function examine(
  io: Io,
  config: Config,
  machine: readonly Check[],
  args: { fix: boolean; json: boolean },
): Promise<number> {
  const isOther = machine.some(({ name }) => name === OTHER_LAYOUT);
  const [installation, parts] = isOther
    ? [[], []]
    : await Promise.all([checkInstallation(config).then((check) => [check]), checkInstallationParts(config)]);
  const needed = [...machine, ...installation];
  const checks = [...needed, ...parts];
  if (!args.json) for (const check of checks) io.print(checkLine(io, check));
  const faults = checks.filter(isFault);
  // A machine that lacks a program or a server cannot be looked at: residue is then not known, which is not none.
  const blind = needed.some((check) => isFault(check) && !NOT_NEEDED_TO_LOOK.includes(check.name));
  const fixing = { fix: args.fix, isServed: await HostLock.isHeld(config.stateDir) };
  const look = blind ? { unknown: MEND_FIRST } : await lookFor(config, fixing);
  // Sandboxes first: what is removed of them may be what a deleted snapshot was kept for.
  const snapshots = blind ? { unknown: MEND_FIRST } : await findSaved(config, 'snapshots', fixing);
  const captures = blind ? { unknown: MEND_FIRST } : await findSaved(config, 'captures', fixing);
  // They wait for somebody to make room, which is no fault of this machine.
  const waiting = blind ? { stalledUnknown: MEND_FIRST } : await lookForSuspended(config);
  const audit = blind ? { auditUnknown: MEND_FIRST } : await lookForAuditFaults(config);
  const clean =
    'residue' in look && look.residue.every(({ removed }) => removed) && isClean(snapshots) && isClean(captures);
  const healthy = clean && isAuditWhole(audit) && faults.length === 0;
  if (args.json) io.printJson({ healthy, checks, ...look, snapshots, captures, ...waiting, ...audit });
  else {
    const saved = [savedLines(io, 'snapshots', snapshots), savedLines(io, 'captures', captures)];
    const left = [residueLines(io, look), ...saved, suspendedLines(io, waiting), auditLines(io, audit)];
    for (const line of left.flat()) io.print(line);
  }
  return healthy ? EXIT.ok : EXIT.failed;
}

async function lookFor(config: Config, { fix, isServed }: Fixing): Promise<Look> {
  const { askedRemoval } = await import('../../worker/upkeep/asked-removal.ts');
  const { findResidue, removeResidue, isSame } = await import('../../worker/upkeep/residue.ts');
  const found = await orWhyNot(findResidue(config));
  if ('why' in found) return { unknown: found.why };
  const residue = found.result.map((mark) => ({ ...mark, removed: false }));
  if (!fix || residue.length === 0) return { residue };
  const ids = [...new Set(residue.map(({ sandboxId }) => sandboxId))];
  // The host worker that serves this machine holds it alone, so it does it.
  const removal = await orWhyNot(isServed ? askedRemoval(config).sandboxes(ids) : removeResidue(config, ids));
  if ('why' in removal) return { residue, notRemoved: removal.why };
  const left = await findResidue(config);
  return { residue: residue.map((mark) => ({ ...mark, removed: !left.some((other) => isSame(mark, other)) })) };
}

function isFault({ ok, optional }: Check): boolean {
  return !ok && !optional;
}

function checkLine(io: Io, { name, ok, optional, found, remedy }: Check): string {
  const verdict = ok ? io.paint('green', 'ok') : io.paint(optional ? 'yellow' : 'red', optional ? 'note' : 'fault');
  const pad = ' '.repeat(8 - (ok ? 2 : optional ? 4 : 5));
  return `${verdict}${pad}${name.padEnd(19)} ${printable(found)}${remedy ? `\n${' '.repeat(28)}do: ${remedy}` : ''}`;
}

function residueLines(io: Io, look: Look): string[] {
  if ('unknown' in look) return [`residue was not looked for: ${printable(look.unknown)}`];
  const { residue } = look;
  if (residue.length === 0) return ['no residue'];
  const lines = residue.map(({ sandboxId, observation, removed }) => {
    const verdict = removed ? io.paint('green', 'removed') : io.paint('red', 'residue');
    return `${verdict} ${sandboxId} ${observation.layer}: ${printable(observation.found ?? observation.lookedAt)}`;
  });
  if (look.notRemoved !== undefined) return [...lines, `not removed: ${printable(look.notRemoved)}`];
  const left = residue.some(({ removed }) => !removed);
  return left ? [...lines, 'do: `mayfly doctor --fix` removes it, and nothing else'] : lines;
}

/** Audit trails that can't be continued, or why nobody knows. */
type AuditLook = { auditFaults: AuditFault[] } | { auditUnknown: string };

export async function lookForAuditFaults(config: Config): Promise<AuditLook> {
  const { findAuditFaults } = await import('../../worker/upkeep/audit.ts');
  const found = await orWhyNot(findAuditFaults(config));
  return 'why' in found ? { auditUnknown: found.why } : { auditFaults: found.result };
}

export function isAuditWhole(look: AuditLook): boolean {
  return 'auditUnknown' in look || look.auditFaults.length === 0;
}

export function auditLines(io: Io, look: AuditLook): string[] {
  if ('auditUnknown' in look) return [`whether the audit trail goes on is not known: ${printable(look.auditUnknown)}`];
  return look.auditFaults.map(({ sandboxId, waiting, since, why }) => {
    const events = waiting === 1 ? '1 event waits' : `${waiting} events wait`;
    return `${io.paint('red', 'audit')} ${printable(sandboxId)}: ${events} since ${printable(since)}: ${printable(why)}`;
  });
}

/**
 * What this machine's worker has said to be. A machine of another kind is the wrong place to look: nothing of the
 * installation is found there, whatever is left of it.
 */
export async function checkInstallation(config: Config): Promise<Check> {
  const { hostId, hostKind, stateDir } = config;
  const said = await orWhyNot(withPresentStore(config, (store) => store.hosts.get(hostId)));
  if ('why' in said) return installation(true, `not known: ${said.why}`);
  const host = said.result;
  if (!host) return installation(true, `no worker has served ${stateDir} as ${hostId} yet`);
  const worker = isLive(host) ? 'its worker runs' : `its worker was last heard of at ${host.lastSeenAt}`;
  const found = `${host.kind} host ${hostId} in ${stateDir}; ${worker}; sandboxes on it: ${host.promised.sandboxes}`;
  if (host.kind === hostKind) return installation(true, found);
  return installation(false, `${found}, but MAYFLY_HOST is ${hostKind}`, `MAYFLY_HOST=${host.kind} mayfly doctor`);
}

function installation(ok: boolean, found: string, remedy = ''): Check {
  return { name: 'installation', ok, optional: false, found, remedy };
}

/** Residue of a snapshot or capture, and whether `--fix` removed it. */
interface FoundSaved extends SavedResidue {
  removed: boolean;
}

/** Residue of snapshots or captures and, if so, why it was not removed; or why it is not known. */
export type SavedLook = { found: FoundSaved[]; notRemoved?: string } | { unknown: string };

export async function findSaved(config: Config, kind: SavedKind, { fix, isServed }: Fixing): Promise<SavedLook> {
  const { askedRemoval } = await import('../../worker/upkeep/asked-removal.ts');
  const { findSavedResidue, removeSavedResidue } = await import('../../worker/upkeep/saved-residue.ts');
  const residue = await orWhyNot(findSavedResidue(config, kind));
  if ('why' in residue) return { unknown: residue.why };
  const found = residue.result.map((one) => ({ ...one, removed: false }));
  if (!fix || !found.some(({ isSafe }) => isSafe)) return { found };
  const removal = await orWhyNot(isServed ? askedRemoval(config)[kind]() : removeSavedResidue(config, kind));
  if ('why' in removal) return { found, notRemoved: removal.why };
  const left = new Set((await findSavedResidue(config, kind)).map(({ id }) => id));
  return { found: found.map((one) => ({ ...one, removed: !left.has(one.id) })) };
}

/** Returns whether nothing is there that should not be; a deleted snapshot that something refers to should. */
export function isClean(look: SavedLook): boolean {
  return 'found' in look && look.found.every(({ removed, state, isSafe }) => removed || (state === 'kept' && isSafe));
}

export function savedLines(io: Io, kind: SavedKind, look: SavedLook): string[] {
  if ('unknown' in look) return [`${kind} were not looked at: ${printable(look.unknown)}`];
  const lines = look.found.map((one) => `${verdict(io, one)} ${one.id} ${about(kind, one)}`);
  if (look.notRemoved !== undefined) lines.push(`not removed: ${printable(look.notRemoved)}`);
  else if (look.found.some(({ removed, isSafe, state }) => !removed && isSafe && state !== 'kept')) {
    lines.push(`do: \`mayfly doctor --fix\` removes what is left of ${kind} that failed or were deleted`);
  }
  return lines;
}

function verdict(io: Io, { removed, isSafe, state, recorded }: FoundSaved): string {
  if (removed) return io.paint('green', 'removed');
  if (!isSafe) return recorded === null ? io.paint('yellow', 'unknown') : io.paint('red', 'broken');
  return state === 'kept' ? io.paint('yellow', 'kept') : io.paint('red', 'residue');
}

function about(kind: SavedKind, { state, recorded, isSafe }: FoundSaved): string {
  const says = recorded === null ? 'the store has no record of it' : `the store says that it is ${recorded}`;
  if (state === 'kept' && isSafe) return `deleted, but a sandbox or another snapshot refers to it; ${says}`;
  if (isSafe) return `${state === 'half' ? 'half made or half removed' : 'whole'}; ${says}`;
  if (recorded === null) return `whole, but ${says}: it may be another store's. It is not removed`;
  const [noun, use] = kind === 'snapshots' ? ['snapshot', 'restored'] : ['capture', 'cloned'];
  return `${state}, but ${says}: it cannot be ${use}. Delete it with \`mayfly ${noun} delete\``;
}

/** Whether residue is to be removed, and by whom. */
interface Fixing {
  fix: boolean;
  /** A host worker serves this machine: it is asked, since nobody else may change what it counts. */
  isServed: boolean;
}
