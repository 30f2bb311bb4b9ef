import type { Mark } from '../../host/hypervisor.ts';
import { isLive } from '../../model/host.ts';
import type { AuditFault } from '../../store/audit/audit-queue.ts';
import type { Config } from '../../worker/config/config.ts';
import type { Check } from '../../worker/doctor/check.ts';
import { checkInstallationParts, checkStore } from '../../worker/doctor/probes.ts';
import { LAYOUT_MISMATCH } from '../../worker/doctor/store.ts';
import { HostLock } from '../../worker/machine/host-lock.ts';
import { withOneStoreServer, withPresentStore } from '../../worker/servers/local-store.ts';
import type { SavedKind, SavedResidue } from '../../worker/upkeep/saved-residue.ts';
import { flag, JSON_OPTION } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { type Io, printable } from '../terminal/io.ts';
import { checkMachine } from './checks.ts';
import { findSuspended, suspendedLines, tryCheck } from './or-why-not.ts';
import { checkServers, settingsOf } from './servers.ts';

/** Residue of a sandbox that is not alive; `removed`: `--fix` removed it. */
interface Residue extends Mark {
  removed: boolean;
}

/** Residue of the machine with the reason why it was not removed; or the reason why it is unknown. */
type ResidueResult = { residue: Residue[]; notRemoved?: string } | { unknown: string };

const MEND_FIRST = 'first mend what is missing';
/** Checks whose failure prevents creates, but not the search for residue. */
const NOT_NEEDED_FOR_SEARCH = ['memory', 'disk', 'disk reserve', 'store is fit', 'store is quick', 'clocks'];

/** `mayfly doctor`: checks the machine, and lists residue. */
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
    // Connecting migrates a store, which must not happen to another version's store.
    if (store.some(({ name }) => name === LAYOUT_MISMATCH)) return examine(io, given, checks, args);
    return withOneStoreServer(given, (config) => examine(io, config, checks, args));
  },
});

async function examine(
  io: Io,
  config: Config,
  machine: readonly Check[],
  args: { fix: boolean; json: boolean },
): Promise<number> {
  const isOther = machine.some(({ name }) => name === LAYOUT_MISMATCH);
  const [installation, parts] = isOther
    ? [[], []]
    : await Promise.all([checkInstallation(config).then((check) => [check]), checkInstallationParts(config)]);
  const needed = [...machine, ...installation];
  const checks = [...needed, ...parts];
  if (!args.json) for (const check of checks) io.print(checkLine(io, check));
  const faults = checks.filter(isFault);
  // Without its programs and servers a machine cannot be searched: its residue is unknown, rather than none.
  const isUnsearchable = needed.some((check) => isFault(check) && !NOT_NEEDED_FOR_SEARCH.includes(check.name));
  const fixing = { fix: args.fix, isServed: await HostLock.isHeld(config.stateDir) };
  const look = isUnsearchable ? { unknown: MEND_FIRST } : await findAndRemoveResidue(config, fixing);
  // Sandboxes first: a deleted snapshot may have been kept for their residue.
  const snapshots = isUnsearchable ? { unknown: MEND_FIRST } : await findSaved(config, 'snapshots', fixing);
  const captures = isUnsearchable ? { unknown: MEND_FIRST } : await findSaved(config, 'captures', fixing);
  // Suspended for space: not a fault of this machine.
  const waiting = isUnsearchable ? { stalledUnknown: MEND_FIRST } : await findSuspended(config);
  const audit = isUnsearchable ? { auditUnknown: MEND_FIRST } : await checkAuditFaults(config);
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

async function findAndRemoveResidue(config: Config, { fix, isServed }: Fixing): Promise<ResidueResult> {
  const { remoteRemoval: askedRemoval } = await import('../../worker/upkeep/asked-removal.ts');
  const { findResidue, removeResidue, isSameMark: isSame } = await import('../../worker/upkeep/residue.ts');
  const found = await tryCheck(findResidue(config));
  if ('why' in found) return { unknown: found.why };
  const residue = found.result.map((mark) => ({ ...mark, removed: false }));
  if (!fix || residue.length === 0) return { residue };
  const ids = [...new Set(residue.map(({ sandboxId }) => sandboxId))];
  // A running host worker owns the machine, so it removes the residue.
  const removal = await tryCheck(isServed ? askedRemoval(config).sandboxes(ids) : removeResidue(config, ids));
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

function residueLines(io: Io, look: ResidueResult): string[] {
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

/** Audit trails that cannot be continued, or the reason why they are unknown. */
type AuditLook = { auditFaults: AuditFault[] } | { auditUnknown: string };

export async function checkAuditFaults(config: Config): Promise<AuditLook> {
  const { findAuditFaults } = await import('../../worker/upkeep/audit.ts');
  const found = await tryCheck(findAuditFaults(config));
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
 * Checks the host's record in the store. A machine of another kind is the wrong one to search: it has nothing of the
 * installation.
 */
export async function checkInstallation(config: Config): Promise<Check> {
  const { hostId, hostKind, stateDir } = config;
  const said = await tryCheck(withPresentStore(config, (store) => store.hosts.get(hostId)));
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

/** Residue of a snapshot or capture; `removed`: `--fix` removed it. */
interface FoundSaved extends SavedResidue {
  removed: boolean;
}

/** Residue of snapshots or captures with the reason why it was not removed; or the reason why it is unknown. */
export type SavedLook = { found: FoundSaved[]; notRemoved?: string } | { unknown: string };

export async function findSaved(config: Config, kind: SavedKind, { fix, isServed }: Fixing): Promise<SavedLook> {
  const { remoteRemoval: askedRemoval } = await import('../../worker/upkeep/asked-removal.ts');
  const { findSavedResidue, removeSavedResidue } = await import('../../worker/upkeep/saved-residue.ts');
  const residue = await tryCheck(findSavedResidue(config, kind));
  if ('why' in residue) return { unknown: residue.why };
  const found = residue.result.map((one) => ({ ...one, removed: false }));
  if (!fix || !found.some(({ isSafe }) => isSafe)) return { found };
  const removal = await tryCheck(isServed ? askedRemoval(config)[kind]() : removeSavedResidue(config, kind));
  if ('why' in removal) return { found, notRemoved: removal.why };
  const left = new Set((await findSavedResidue(config, kind)).map(({ id }) => id));
  return { found: found.map((one) => ({ ...one, removed: !left.has(one.id) })) };
}

/** Reports whether the machine is free of residue; deleted snapshots that are still referenced do not count. */
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

/** Options of the removal of residue. */
interface Fixing {
  fix: boolean;
  /** True when a host worker serves this machine: only it may change its ledger. */
  isServed: boolean;
}
