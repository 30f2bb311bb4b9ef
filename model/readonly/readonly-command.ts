import programs from '../../go/readonly/programs.json' with { type: 'json' };
import { check } from './check.ts';
import type { ReadonlyCommand, Refusal } from './command.ts';
import { parse } from './grammar.ts';
import type { Table } from './table.ts';

/** Which programs may be run on a source, and how. */
export const PROGRAMS = programs as unknown as Table;

/**
 * What a caller's text asks for, if it may be run on a source; docs/read-only.md says what may.
 * The gate on the source checks the result once more by its own rules.
 */
export function readReadonlyCommand(text: string): { command: ReadonlyCommand } | { refusal: Refusal } {
  const parsed = parse(text, PROGRAMS.limits.text);
  if ('reason' in parsed) return { refusal: parsed };
  const checked = check(PROGRAMS, parsed.command);
  if ('pipelines' in checked) return { command: checked };
  const position = parsed.positions[checked.pipeline]?.[checked.stage]?.[checked.part][checked.index] ?? null;
  return { refusal: { position, reason: checked.reason } };
}
