import type { ArgsDef } from 'citty';
import type { Page, PageOptions } from '../../clients/typescript/http/resource.ts';
import { LIMITS } from '../../model/limits.ts';
import { flag } from './arguments.ts';
import { columns, type Io, printable } from './io.ts';

/** Options of every list, which has one format for all nouns. */
export const LIST_OPTION = {
  json: flag('Print NDJSON on stdout, one item a line'),
  quiet: { type: 'boolean', alias: 'q', description: 'Print the ids alone, or what stands for them', default: false },
} as const satisfies ArgsDef;

export interface Table<T> {
  header: string[];
  row: (item: T) => string[];
}

/** Reads all pages of a list. */
export async function* everyItem<T>(
  read: (page: PageOptions) => Promise<Page<T>>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<T> = await read({ limit: LIMITS.page.max, signal, ...(cursor && { cursor }) });
    yield* page.items;
    cursor = page.nextCursor;
  }
}

interface ListOptions {
  json: boolean;
  quiet?: boolean;
}

/**
 * Prints all pages of a list: as a table after the last one, with `--json` or `--quiet` as they arrive.
 * @param read reads one page
 */
export async function printList<T>(
  io: Io,
  options: ListOptions,
  table: Table<T>,
  read: (page: PageOptions) => Promise<Page<T>>,
): Promise<void> {
  const readAndNote = async (wanted: PageOptions) => {
    const page = await read(wanted);
    for (const { id, problem } of page.unreadable ?? [])
      io.note(`cannot be read: ${printable(id)}: ${printable(problem)}`);
    return page;
  };
  await printEach(io, options, table, everyItem(readAndNote, io.signal));
}

/** Prints items like {@link printList}. */
export async function printEach<T>(
  io: Io,
  { json, quiet = false }: ListOptions,
  { header, row }: Table<T>,
  items: AsyncIterable<T>,
): Promise<void> {
  const rows: string[][] = [];
  for await (const item of items) {
    if (json) io.printJson(item);
    else if (quiet) io.print(printable(row(item)[0] ?? ''));
    else rows.push(row(item));
  }
  if (!json && !quiet) for (const line of columns(header, rows)) io.print(line);
}
