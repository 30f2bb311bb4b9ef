import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { flag } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { customCommand } from '../terminal/command.ts';
import { findConnection } from '../terminal/connection.ts';
import { columns, type Io } from '../terminal/io.ts';
import { cellAt } from './rows/section.ts';
import { SECTIONS } from './sections/sections.ts';

/** `mayfly top`: shows living sandboxes, running workflows and possible residue. */
export const topCommand = customCommand({
  args: {
    once: flag('Print it once, as tables'),
    json: flag('Print it once, as one JSON document on stdout'),
  },
  async run({ io, args, connect }) {
    const client = connect();
    if (!args.once && !args.json && isScreen(io)) {
      const { runTop } = await import('./screen/run-top.ts');
      return runTop(io, client, findConnection(io.env).apiUrl);
    }
    await printOnce(io, client, args.json);
    return EXIT.ok;
  },
});

/** Reports whether output and input are a terminal. */
function isScreen(io: Io): boolean {
  return io.isTerminal && process.stdout.isTTY && process.stdin.isTTY && io.env['TERM'] !== 'dumb';
}

/** Prints all sections once: for pipes, files, and static output. */
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
