import type { MayflyClient } from '../client/mayfly-client.ts';
import { Samples, type Spread } from './measure/measure.ts';
import type { PlainSsh } from './plain-ssh.ts';

/**
 * `true` through the API, and by plain ssh2 and the system's ssh on the same guest, taking turns so that all meet
 * the same machine; then how soon live output is here.
 */
export async function measureCommands(
  client: MayflyClient,
  sandboxId: string,
  plain: PlainSsh,
  runs: number,
): Promise<Record<string, Spread>> {
  const samples = new Samples();
  await client.commands.run(sandboxId, { command: 'true' });
  for (let run = 0; run < runs; run++) {
    await samples.time('true, through the API', () => client.commands.run(sandboxId, { command: 'true' }));
    await samples.time('true as argv, through the API', () => client.commands.run(sandboxId, { argv: ['true'] }));
    await samples.time('true, plain ssh2', () => plain.ssh2('true'));
    await samples.time('true, ssh with ControlMaster', () => plain.ssh('true'));
  }
  await measureEcho(client, sandboxId, runs, samples);
  return samples.spreads();
}

/**
 * From sending a line to `cat`'s standard input until it is back as live output: an upper bound for how long output is
 * under way, by one clock.
 */
async function measureEcho(client: MayflyClient, sandboxId: string, runs: number, samples: Samples): Promise<void> {
  const { id } = await client.commands.run(sandboxId, { argv: ['cat'], stdinOpen: true }, { waitSeconds: 0 });
  const output = client.commands.follow(sandboxId, id);
  let offset = 0;
  for (let run = 0; run <= runs; run++) {
    const line = Buffer.from(`line ${run}\n`);
    const began = performance.now();
    const written = client.commands.writeStdin(sandboxId, id, line, { offset });
    await output.next();
    if (run > 0) samples.add('live output, a line there and back', performance.now() - began); // the first connects
    offset = (await written).offset;
  }
  await client.commands.writeStdin(sandboxId, id, new Uint8Array(), { offset, close: true });
  for await (const piece of output) if ('ended' in piece) return;
}
