import type { CommandsBetween, ComparedState } from '../../clients/typescript/http/openapi.ts';
import { commandRow } from '../command/command-text.ts';
import { columns } from '../terminal/columns.ts';
import { printable } from '../terminal/printable.ts';

/** A state, as the head of a comparison names it. */
export function stateText({ snapshotId, sandboxId, savedAt }: ComparedState): string {
  return printable(`${snapshotId ?? `what ${sandboxId} holds now`}, ${savedAt}`);
}

/** The commands that ran between two states. */
export function betweenLines({ items, isCut, unknown }: CommandsBetween): string[] {
  if (unknown !== null) return [printable(`commands: ${unknown}`)];
  if (items.length === 0) return ['no command ran in between'];
  const rows = items.map((ran) => commandRow({ ...ran, spec: ran }));
  const lines = columns(
    ['  COMMAND', 'ENDED', 'TOOK', 'LINE'],
    rows.map(([id = '', ...rest]) => [`  ${id}`, ...rest]),
  );
  return ['commands in between:', ...lines, ...(isCut ? ['  …'] : [])];
}
