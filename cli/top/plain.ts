import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { columns } from '../terminal/columns.ts';
import type { Io } from '../terminal/io.ts';
import { cellAt } from './rows/row.ts';
import { SECTIONS } from './sections/sections.ts';

/** All sections once: for pipes, files, and who wants no moving picture. */
export async function printOnce(io: Io, client: MayflyClient, json: boolean): Promise<void> {
  const at = new Date().toISOString();
  const read = [];
  for (const section of SECTIONS) read.push({ section, found: await section.rows(client, io.signal) });
  if (json) {
    const items = read.map(({ section, found }) => [section.name, found.items]);
    io.printJson({ at, ...Object.fromEntries(items) });
    return;
  }
  const now = Date.now();
  for (const [nth, { section, found }] of read.entries()) {
    if (nth > 0) io.print('');
    io.print(`${io.paint('bold', section.name)} ${found.rows.length}`);
    if (found.rows.length === 0) continue;
    const header = section.columns.map(({ title }) => title);
    const lines = columns(
      header,
      found.rows.map(({ cells }) => cells.map((cell) => cellAt(cell, now))),
    );
    for (const line of lines) io.print(line);
  }
}
