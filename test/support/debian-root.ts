import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildOnce } from '../../scripts/setup/cache.mjs';
import { run } from '../../scripts/setup/run.mjs';
import { cacheDir } from '../../worker/config/artifacts.mjs';
import { outside } from './cloud-image.ts';

/** Package sources of this machine, if it is a Debian. */
const SOURCES = '/etc/apt/sources.list.d/debian.sources';
const RECIPE = [
  '--mode=root',
  '--variant=minbase',
  '--dpkgopt=force-unsafe-io',
  ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
  `--customize-hook=chroot "$1" useradd --uid 1000 --create-home node; echo its own >"$1/own"`,
  'bookworm',
];

/**
 * Returns a tar archive of a Debian container image: no kernel, systemd, sshd or agent; a user 1000. Made once: a
 * minute and 140 MB of cache.
 */
export async function debianRoot(timeoutMs: number): Promise<Buffer> {
  const digest = createHash('sha256').update(JSON.stringify(RECIPE)).digest('hex').slice(0, 16);
  const target = join(cacheDir(), 'roots', digest);
  const signal = AbortSignal.timeout(timeoutMs);
  const note = (text: string) => process.stderr.write(`root of a Debian: ${text}\n`);
  const build = async (folder: string) => {
    const alone = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'];
    const sources = existsSync(SOURCES) ? [SOURCES] : [];
    await run([...outside(), ...alone, 'mmdebstrap', ...RECIPE, join(folder, 'root.tar'), ...sources], { signal });
  };
  await buildOnce({ target, proof: 'root.tar', signal, note, build });
  return await readFile(join(target, 'root.tar'));
}
