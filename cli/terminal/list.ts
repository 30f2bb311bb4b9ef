import type { ArgsDef } from 'citty';
import type { Page, PageOptions } from '../../client/http/options.ts';
import { LIMITS } from '../../model/limits.ts';
import { columns } from './columns.ts';
import type { Io } from './io.ts';
import { printable } from './printable.ts';

/** The option of every list; a list has one shape whatever it is of. */
export const LIST_OPTION = {
  json: { type: 'boolean', description: 'Print NDJSON on stdout, one item a line', default: false },
} as const satisfies ArgsDef;

export interface Table<T> {
  header: string[];
  row: (item: T) => string[];
}

/**
 * Prints all pages of a list: as a table when the last one is there, or with `--json` as they come.
 * @param read one page
 */
export async function printList<T>(
  io: Io,
  { json }: { json: boolean },
  { header, row }: Table<T>,
  read: (page: PageOptions) => Promise<Page<T>>,
): Promise<void> {
  const rows: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<T> = await read({ limit: LIMITS.page.max, signal: io.signal, ...(cursor && { cursor }) });
    if (json) for (const item of page.items) io.printJson(item);
    else rows.push(...page.items.map(row));
    for (const { id, problem } of page.unreadable ?? [])
      io.note(`cannot be read: ${printable(id)}: ${printable(problem)}`);
    cursor = page.nextCursor;
  }
  if (!json) for (const line of columns(header, rows)) io.print(line);
}
