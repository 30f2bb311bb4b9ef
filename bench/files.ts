import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { MayflyClient } from '../client/mayfly-client.ts';
import { Samples, type Spread } from './measure/measure.ts';
import type { PlainSsh } from './plain-ssh.ts';

const BYTES = 100 * 1_048_576;
const REMOTE = '/var/tmp/mayfly-bench';

/** 100 MiB up and down, ours and sftp's in turns, between the same disks. */
export async function measureFiles(
  client: MayflyClient,
  sandboxId: string,
  plain: PlainSsh,
  runs: number,
): Promise<Record<string, Spread>> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-bench-files-'));
  const [local, back] = [join(folder, 'up'), join(folder, 'down')];
  const samples = new Samples();
  try {
    await writeFile(local, randomBytes(BYTES));
    for (let run = 0; run < runs; run++) {
      await samples.time('up, through the API', () =>
        client.files.write(sandboxId, REMOTE, Readable.toWeb(createReadStream(local))),
      );
      await samples.time('up, sftp', () => plain.sftp(`put ${local} ${REMOTE}.sftp`));
      await samples.time('down, through the API', async () =>
        pipeline(Readable.fromWeb((await client.files.read(sandboxId, REMOTE)).body), createWriteStream(back)),
      );
      await samples.time('down, sftp', () => plain.sftp(`get ${REMOTE}.sftp ${back}`));
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return samples.spreads();
}
