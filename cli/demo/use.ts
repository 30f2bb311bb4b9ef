import { text } from 'node:stream/consumers';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import { CliError } from '../terminal/cli-error.ts';
import { between, duration } from '../terminal/duration.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/** Prints a line now and then, so that one sees that it comes while the command runs. */
const COMMAND = 'uname -sr; for i in 1 2 3; do echo "line $i of 3"; sleep 0.3; done; echo "and this is stderr" >&2';
const FILE = '/tmp/mayfly-demo.txt';

/** What a sandbox is for: a command whose output is live, a file in, and the same file out. */
export async function useSandbox(io: Io, client: MayflyClient, sandboxId: string): Promise<void> {
  await runCommand(io, client, sandboxId);
  await copyFile(io, client, sandboxId);
}

async function runCommand(io: Io, client: MayflyClient, sandboxId: string): Promise<void> {
  io.print(io.paint('dim', `  $ mayfly run ${sandboxId} --command '${COMMAND}'`));
  const { signal } = io;
  const { id } = await client.commands.run(sandboxId, { command: COMMAND }, { waitSeconds: 0, signal });
  for await (const piece of client.commands.follow(sandboxId, id, { signal })) {
    if ('ended' in piece) {
      const { outcome, exitCode, startedAt, endedAt } = piece.ended;
      const took = startedAt && endedAt ? ` after ${duration(between(startedAt, endedAt))}` : '';
      io.print(`  ${outcome} with ${exitCode}${took}; started once, its output is in the store`);
      return;
    }
    for (const line of Buffer.from(piece.bytes).toString().trimEnd().split('\n')) {
      io.print(`    ${piece.stream}  ${printable(line)}`);
    }
  }
  throw new CliError(EXIT.failed, `${id} was not followed to its end`, 'the API closed the stream', 'Try again.');
}

async function copyFile(io: Io, client: MayflyClient, sandboxId: string): Promise<void> {
  const { signal } = io;
  const content = `written by the demo at ${new Date().toISOString()}\n`;
  await client.files.write(sandboxId, FILE, Buffer.from(content), { signal });
  const seen = await client.commands.run(sandboxId, { argv: ['cat', FILE] }, { signal });
  const { body } = await client.files.read(sandboxId, FILE, { signal });
  const back = await text(body);
  if (seen.exitCode !== 0 || back !== content) {
    throw new CliError(EXIT.failed, 'The file did not come back as it went in', printable(back), 'Report this.');
  }
  io.print(`  ${Buffer.byteLength(content)} bytes to ${FILE}, read there by cat, and back: the same`);
}
