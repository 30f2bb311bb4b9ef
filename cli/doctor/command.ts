import { access } from 'node:fs/promises';
import { type ArgsDef, defineCommand } from 'citty';
import type { Mark } from '../../host/hypervisor.ts';
import { MayflyError } from '../../model/errors.ts';
import { type Config, readConfig } from '../../worker/config.ts';
import { checkArguments, JSON_OPTION } from '../arguments.ts';
import { EXIT } from '../exit-codes.ts';
import type { Io } from '../io.ts';
import { printable } from '../printable.ts';
import { type Check, checkMachine } from './checks.ts';
import { checkServers } from './servers.ts';

const ARGS = {
  fix: {
    type: 'boolean',
    description: 'Remove residue: only what carries the name of a sandbox that is not alive',
    default: false,
  },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** What of a sandbox that is not alive was found, and whether `--fix` removed it. */
interface Residue extends Mark {
  removed: boolean;
}

/** What the machine was found to hold, or why it was not looked at. */
type Look = { residue: Residue[] } | { unknown: string };

/** `mayfly doctor`: looks at the machine, and lists what should not be on it. */
export function doctorCommand(io: Io) {
  return defineCommand({
    meta: { name: 'doctor', description: 'Check this machine and list what sandboxes left behind' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const config = readConfig(io.env);
      const checks = [...(await checkMachine(config, io.env)), ...(await checkServers(config))];
      if (!args.json) for (const check of checks) io.print(checkLine(io, check));
      const missing = checks.filter(({ ok, optional }) => !ok && !optional);
      // A machine that lacks a program or a server cannot be looked at: residue is then not known, which is not none.
      const look =
        missing.length > 0 ? { unknown: 'first mend what is missing' } : await lookFor(config, checks, args.fix);
      const healthy = 'residue' in look && look.residue.every(({ removed }) => removed);
      if (args.json) io.printJson({ healthy, checks, ...look });
      else for (const line of residueLines(io, look)) io.print(line);
      return healthy ? EXIT.ok : EXIT.failed;
    },
  });
}

/** Opening a host makes it ready, so where nothing can be left of sandboxes, it is not opened to look for them. */
async function lookFor(config: Config, checks: Check[], fix: boolean): Promise<Look> {
  const runs = checks.some(({ name, ok }) => name === 'libvirtd answers' && ok);
  const used = runs || (await access(config.stateDir).then(() => true, isMissing));
  return used ? residueOf(config, fix) : { residue: [] };
}

function isMissing(error: unknown): false {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
  throw error;
}

/** The host worker that serves this machine holds it alone; whoever else wants to look is told so. */
async function residueOf(config: Config, fix: boolean): Promise<Look> {
  try {
    return { residue: await findOrFix(config, fix) };
  } catch (error) {
    if (error instanceof MayflyError && error.code === 'host_unavailable') return { unknown: error.message };
    throw error;
  }
}

async function findOrFix(config: Config, fix: boolean): Promise<Residue[]> {
  const { findResidue, removeResidue } = await import('../../worker/residue.ts');
  const found = await findResidue(config);
  if (!fix) return found.map((mark) => ({ ...mark, removed: false }));
  for (const id of new Set(found.map(({ sandboxId }) => sandboxId))) await removeResidue(config, id);
  const left = await findResidue(config);
  return found.map((mark) => ({
    ...mark,
    removed: !left.some(
      ({ sandboxId, observation }) => sandboxId === mark.sandboxId && observation.layer === mark.observation.layer,
    ),
  }));
}

function checkLine(io: Io, { name, ok, optional, found, remedy }: Check): string {
  const verdict = ok ? io.paint('green', 'ok') : io.paint(optional ? 'yellow' : 'red', optional ? 'note' : 'missing');
  const pad = ' '.repeat(Math.max(1, 8 - (ok ? 2 : optional ? 4 : 7)));
  return `${verdict}${pad}${name.padEnd(20)}${printable(found)}${remedy ? `\n${' '.repeat(28)}do: ${remedy}` : ''}`;
}

function residueLines(io: Io, look: Look): string[] {
  if ('unknown' in look) return [`residue was not looked for: ${printable(look.unknown)}`];
  const { residue } = look;
  if (residue.length === 0) return ['no residue'];
  const lines = residue.map(({ sandboxId, observation, removed }) => {
    const verdict = removed ? io.paint('green', 'removed') : io.paint('red', 'residue');
    return `${verdict} ${sandboxId} ${observation.layer}: ${printable(observation.found ?? observation.lookedAt)}`;
  });
  const left = residue.some(({ removed }) => !removed);
  return left ? [...lines, 'do: `mayfly doctor --fix` removes it, and nothing else'] : lines;
}
