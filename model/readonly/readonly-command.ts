import programs from '../../go/readonly/programs.json' with { type: 'json' };
import { checkCommand } from './check.ts';
import type { ReadonlyCommand, Refusal } from './command.ts';
import { parse } from './grammar.ts';
import type { Table } from './table.ts';

/** Programs allowed on a source, with their arguments. */
export const PROGRAMS = programs as unknown as Table;

/**
 * Parses and checks a caller's command for a source; docs/read-only.md describes the rules. The gate on the source
 * checks the result again by its own implementation.
 */
export function parseReadonlyCommand(text: string): { command: ReadonlyCommand } | { refusal: Refusal } {
  const parsed = parse(text, PROGRAMS.limits.text);
  if ('reason' in parsed) return { refusal: parsed };
  const checked = checkCommand(PROGRAMS, parsed.command);
  if ('pipelines' in checked) return { command: checked };
  const position = parsed.positions[checked.pipeline]?.[checked.stage]?.[checked.part][checked.index] ?? null;
  return { refusal: { position, reason: checked.reason } };
}
