import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Sandbox } from '../clients/typescript/http/openapi.ts';
import { type Bench, withSandbox } from './support/bench.ts';
import { type Figures, Samples } from './support/measure.ts';
import { PlainSsh } from './support/plain-ssh.ts';

const BYTES = 100 * 1_048_576;
const REMOTE = '/var/tmp/mayfly-bench';

/** Measures commands, live output and files, and the plain tools on the same guest, taking turns. */
export async function measureCommands(bench: Bench): Promise<Figures> {
  const samples = new Samples();
  const scratch = await mkdtemp(join(tmpdir(), 'mayfly-bench-'));
  try {
    await withSandbox(bench, async (sandbox) => {
      if (!sandbox.ssh) throw new Error(`${sandbox.id} has no SSH`);
      const credentials = join(bench.installation.describe().credentialsDir, sandbox.id);
      const plain = new PlainSsh(sandbox.ssh, credentials, scratch);
      await plain.open();
      try {
        await measureTrue(bench, sandbox, plain, samples);
        await measureEcho(bench, sandbox, samples);
        await measureFiles(bench, sandbox, plain, scratch, samples);
      } finally {
        await plain.close();
      }
    });
  } finally {
    await rm(scratch, { recursive: true });
  }
  return {
    spreads: samples.spreads(),
    pairs: [
      { what: 'run a command', ours: 'true, through the API', beside: 'true, plain ssh2' },
      { what: '100 MiB up', ours: 'up, through the API', beside: 'up, sftp' },
      { what: '100 MiB down', ours: 'down, through the API', beside: 'down, sftp' },
    ],
  };
}

async function measureTrue(bench: Bench, { id }: Sandbox, plain: PlainSsh, samples: Samples): Promise<void> {
  const { commands } = bench.client;
  await samples.rounds(bench, async (counted) => {
    await counted.time('true, through the API', () => commands.run(id, { command: 'true' }));
    await counted.time('true as argv, through the API', () => commands.run(id, { argv: ['true'] }));
    await counted.time('true, plain ssh2', () => plain.ssh2('true'));
    await counted.time('true, ssh with ControlMaster', () => plain.ssh('true'));
  });
}

/**
 * Times a line from `cat`'s standard input until it is back as live output: an upper bound for the latency of output,
 * by one clock.
 */
async function measureEcho({ client: { commands }, runs }: Bench, sandbox: Sandbox, samples: Samples): Promise<void> {
  const { id } = await commands.run(sandbox.id, { argv: ['cat'], stdinOpen: true }, { waitSeconds: 0 });
  const output = commands.follow(sandbox.id, id);
  let offset = 0;
  await samples.rounds({ runs, warmUp: 1 }, async (counted) => {
    const began = performance.now();
    const written = commands.writeStdin(sandbox.id, id, Buffer.from('a line\n'), { offset });
    await output.next();
    counted.add('live output, a line there and back', performance.now() - began);
    offset = (await written).offset;
  });
  await commands.writeStdin(sandbox.id, id, new Uint8Array(), { offset, close: true });
  for await (const piece of output) if ('ended' in piece) return;
}

/** Uploads and downloads 100 MiB between the same disks. */
async function measureFiles(
  { client: { files }, isQuick }: Bench,
  { id }: Sandbox,
  plain: PlainSsh,
  scratch: string,
  samples: Samples,
): Promise<void> {
  const [local, back] = [join(scratch, 'up'), join(scratch, 'down')];
  await writeFile(local, randomBytes(BYTES));
  await samples.rounds({ runs: isQuick ? 1 : 5, warmUp: 0 }, async (counted) => {
    await counted.time('up, through the API', () => files.write(id, REMOTE, Readable.toWeb(createReadStream(local))));
    await counted.time('up, sftp', () => plain.sftp(`put ${local} ${REMOTE}.sftp`));
    await counted.time('down, through the API', async () =>
      pipeline(Readable.fromWeb((await files.read(id, REMOTE)).body), createWriteStream(back)),
    );
    await counted.time('down, sftp', () => plain.sftp(`get ${REMOTE}.sftp ${back}`));
  });
}
