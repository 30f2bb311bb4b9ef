import { spawnSync } from 'node:child_process';
import type { ReadonlyCommand } from '../../model/readonly/command.ts';
import { parse } from '../../model/readonly/grammar.ts';
import { PROGRAMS, parseReadonlyCommand } from '../../model/readonly/readonly-command.ts';
import { guestBinaries } from '../../worker/config/artifacts.mjs';
import { type Case, isRecord, type Problem, stringField } from './case.ts';

/** Strengths of judgement calls, which are informative and do not count. */
const UNCOUNTED = ['policy', 'may_block'];

/** Verdicts of both layers on a command: `allowed` or `refused: …`, null when the layer did not see it. */
interface Verdicts {
  first: string;
  gate: string | null;
}

/**
 * Returns the verdicts of both layers, one per text. The gate also gets texts that the first layer refused, if the
 * grammar can parse them.
 */
export function verdictsOf(texts: readonly string[]): Verdicts[] {
  const asked = texts.map((text) => {
    const read = parseReadonlyCommand(text);
    if ('command' in read) return { first: 'allowed', command: read.command };
    const parsed = parse(text, PROGRAMS.limits.text);
    const first = `refused: at ${read.refusal.position}: ${read.refusal.reason}`;
    return { first, command: 'command' in parsed ? parsed.command : null };
  });
  const verdicts = gateVerdicts(asked.flatMap(({ command }) => command ?? []));
  return asked.map(({ first, command }) => ({ first, gate: command === null ? null : (verdicts?.shift() ?? null) }));
}

/** Requires that both layers allow a permitted command; each alone must refuse a forbidden one. */
export function readonlyGroup(one: Case): Problem {
  if (!isRecord(one.expected) || typeof one.expected['allowed'] !== 'boolean') {
    throw new TypeError('expected.allowed is not a boolean');
  }
  if (UNCOUNTED.includes(one.strength ?? '')) return null;
  const [verdicts] = verdictsOf([stringField(one.input, 'command')]);
  if (!verdicts || holds(verdicts, one.expected['allowed'])) return null;
  return {
    expected: JSON.stringify(one.expected),
    came: `${verdicts.first}; by the gate: ${verdicts.gate ?? 'not asked'}`,
  };
}

export function holds({ first, gate }: Verdicts, allowed: boolean): boolean {
  return [first, gate].every((verdict) => verdict === null || (verdict === 'allowed') === allowed);
}

const gate = guestBinaries()?.gate;
if (!gate)
  process.stderr.write('readonly: the gate is not built (npm run setup), so only the first layer is looked at\n');

function gateVerdicts(commands: readonly ReadonlyCommand[]): string[] | null {
  if (!gate) return null;
  const input = commands.map((command) => JSON.stringify(command)).join('\n');
  const ran = spawnSync(gate, ['check', '--lines'], { input, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const lines = ran.stdout.split('\n').slice(0, -1);
  if (lines.length !== commands.length) throw new Error(`the gate failed: ${ran.stderr}`);
  return lines.map((line) => {
    const verdict: unknown = JSON.parse(line);
    if (!isRecord(verdict)) throw new Error(`the gate answered ${line}`);
    const refusal = verdict['refusal'];
    return verdict['allowed'] === true ? 'allowed' : `refused: ${isRecord(refusal) ? String(refusal['reason']) : line}`;
  });
}
