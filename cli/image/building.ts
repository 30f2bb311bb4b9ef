import { debianPackages } from '../../scripts/setup/debian-packages.mjs';
import { buildImage } from '../../scripts/setup/image.mjs';
import { spaceBlocker } from '../../scripts/setup/part.mjs';
import { SetupProblem } from '../../scripts/setup/problem.mjs';
import { Progress } from '../../scripts/setup/progress.mjs';
import { type GoldenImage, goldenImage, guestBinaries, type ImageName } from '../../worker/config/artifacts.mjs';
import { CliError } from '../terminal/cli-error.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';

/** What mmdebstrap's apt, and npm, say when they reach nobody. */
const UNREACHABLE =
  /Temporary failure resolving|Could not (?:resolve|connect)|Unable to connect|Connection (?:refused|timed out|failed)|Network is unreachable|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/;

/**
 * Builds an image, unless it is there; says what it is doing, line by line.
 * @throws CliError with a remedy: something is missing, or the build has failed; then nothing of it is left
 */
export async function builtImage(io: Io, name: ImageName): Promise<GoldenImage> {
  const found = goldenImage(name);
  if (found) return found;
  refuseUnready(name);
  io.note(
    'It is built of Debian packages and takes some minutes, once: 1 GiB in the cache, and as much in the state folder.',
  );
  const following = new Progress({ write: (line: string) => io.note(line.trimEnd()) }).follow('image');
  try {
    await buildImage(name, { signal: io.signal, note: following.note });
    const image = goldenImage(name);
    if (!image) throw new SetupProblem(`${name} was built of other sources than these are now`);
    following.done(image.dir);
    return image;
  } catch (error) {
    if (io.signal.aborted || !(error instanceof SetupProblem)) throw error;
    throw failure(name, error);
  } finally {
    following.stop();
  }
}

/** @throws CliError */
function refuseUnready(name: ImageName): void {
  const cannot = `${name} cannot be built here`;
  const packages = debianPackages.look();
  if (!packages.ready) throw new CliError(EXIT.failed, cannot, packages.detail, 'Run `npm run setup`.');
  if (guestBinaries() === null) {
    throw new CliError(EXIT.failed, cannot, 'the agent that runs in it is not built', 'Run `npm run setup`.');
  }
  const [full] = spaceBlocker();
  if (full !== undefined) throw new CliError(EXIT.unavailable, cannot, full, 'Make room, and run it again.');
}

function failure(name: ImageName, problem: SetupProblem): CliError {
  const what = `${name} could not be built; nothing of it is left`;
  const line = problem.output.find((one) => UNREACHABLE.test(one));
  if (line === undefined) {
    return new CliError(EXIT.failed, what, problem.message, 'Mend what it says, and run it again.', { cause: problem });
  }
  const remedy =
    'See that this machine reaches its Debian mirror and its npm registry (`apt-get update`, `npm ping`), and run it again.';
  return new CliError(EXIT.unavailable, what, line.trim(), remedy, { cause: problem });
}
