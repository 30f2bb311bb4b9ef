import { MayflyClient } from '../../client/mayfly-client.ts';
import { readConfig } from '../../worker/config/config.ts';
import type { Installation } from '../../worker/installation.ts';
import { bootText } from '../sandbox/sandbox-text.ts';
import { duration } from '../terminal/duration.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { isNothingLeft } from './evidence-of-all.ts';
import { liveAndDie } from './life.ts';
import { beginPool, createAndUse, endMakers, poolFilled, templateAfter, type Way } from './ways.ts';

/** The demo itself, inside its namespace. @returns an exit code */
export async function tellStory(io: Io, source: string): Promise<number> {
  const config = readConfig(io.env);
  io.print(io.paint('bold', `Mayfly demo: ${config.hostKind} sandboxes, from request to proof`));
  if (config.hostKind === 'simulated') io.print(io.paint('yellow', 'simulated host: it isolates NOTHING'));
  const started = Date.now();
  const { startInstallation } = await import('../../worker/installation.ts');
  io.print('\n1. start an installation');
  const installation = await startInstallation(config, (line) => io.print(`  ${printable(line)}`));
  try {
    io.print(`  ready after ${duration(Date.now() - started)}`);
    io.signal.throwIfAborted();
    return await chapters(io, installation, source);
  } finally {
    const stopping = Date.now();
    await installation.stop({ sandboxes: 'destroy' });
    io.print(`\n13. stop\n  everything stopped in ${duration(Date.now() - stopping)}`);
    io.print(`  all of this took ${duration(Date.now() - started)}`);
  }
}

async function chapters(io: Io, installation: Installation, source: string): Promise<number> {
  const client = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
  io.print(`\n2. create a sandbox of ${printable(source)}: it boots`);
  const { way: cold, agrees } = await liveAndDie(io, installation, client, source);

  io.print('\n9. create another: it wakes from the memory of a template');
  const template = await templateAfter(io, client, cold.record);
  io.print('  beside it a pool makes one for whoever comes next');
  await beginPool(io, client, source);
  const woken = template ? [await createAndUse(io, client, source, 'template')] : [];

  io.print('\n10. and another: a pool has it ready');
  await poolFilled(io, client);
  const warm = await createAndUse(io, client, source, 'warm');

  io.print('\n11. the ways beside each other');
  printWays(io, [cold, ...woken, warm]);

  io.print('\n12. destroy what is left, with the pool and the template');
  const ending = [...woken, warm].map(({ record }) =>
    client.destroySandbox(record.id, { waitSeconds: 120, signal: io.signal }),
  );
  await Promise.all([...ending, endMakers(io, client, template)]);
  const isLeft = !(await isNothingLeft(io, installation, client));
  return agrees && !isLeft ? EXIT.ok : EXIT.failed;
}

/** Beside each other: until it runs, as its caller waits for it, and its first command. */
function printWays(io: Io, ways: readonly Way[]): void {
  io.print(`  ${'way'.padEnd(10)}${'created in'.padStart(10)}${'first command'.padStart(15)}  boot`);
  for (const { record, createMs, commandMs } of ways) {
    const times = `${duration(createMs).padStart(10)}${duration(commandMs).padStart(15)}`;
    const { way = 'cold' } = record.boot ?? {};
    const said = bootText(record.boot ?? null) ?? 'not told: this host has one way';
    io.print(`  ${way.padEnd(10)}${times}  ${printable(said)}`);
  }
}
