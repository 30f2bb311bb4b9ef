import type { Image } from '../../clients/typescript/http/openapi.ts';
import { isImageFinal } from '../../model/image/image.ts';
import { type ImageName, pulledImages, shortImageName } from '../../worker/config/artifacts.mjs';
import { readConfig } from '../../worker/config/config.ts';
import { type ImageState, imageStates } from '../../worker/machine/images.ts';
import { waitSignal } from '../sandbox/sandbox-text.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { flag, imageId, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/cli-error.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { buildCommand, codeOf } from './build.ts';
import { awaitBuildEnd, builtLines, followBuild, stepLines } from './follow-build.ts';
import { pullCommand } from './pull.ts';

const IMAGE_HEADER = ['NAME', 'BUILT', 'SIZE', 'SOURCE'];

function imageRow({ name, image, source }: ImageState): string[] {
  return [name, image?.builtAt ?? 'no', image ? size(image.diskBytes) : '-', sourceText(name, source)];
}

function sourceText(name: ImageName, source: ImageState['source']): string {
  const isPulled = pulledImages.some((pulled) => pulled === name);
  const build = isPulled ? `mayfly image pull ${shortImageName(name)}` : 'npm run setup';
  switch (source) {
    case 'registered':
      return 'registered';
    case 'at-start':
      return 'when the host worker starts';
    case 'earlier':
      return `registered, but of an earlier build; \`${build}\`${isPulled ? '' : ', and start the host worker again'}`;
    case 'foreign':
      return 'no: a domain that is none of ours has the name';
    case 'simulated':
      return 'no: for virtual machines, and this host is simulated';
    case 'none':
      return `no; \`${build}\``;
  }
}

/** `mayfly image list`: lists images of this machine, even when no part of Mayfly runs. */
export const listCommand = pagedCommand({
  description: 'List the golden images, whether they are built, and whether they are sources',
  table: { header: IMAGE_HEADER, row: imageRow },
  async read({ io }) {
    const items = await imageStates(readConfig(io.env));
    return async () => ({ items });
  },
});

const ID = { type: 'positional', description: 'Build id (`mayfly image builds`)', required: true } as const;
const HEADER = ['ID', 'NAME', 'STATE', 'DONE', 'CACHED', 'BEGUN'];

function row({ id, name, state, done, steps, cached, createdAt }: Image): string[] {
  return [id, name, state, `${done}/${steps.length}`, `${cached}`, createdAt];
}

/** `mayfly image builds`: newest first. */
export const buildsCommand = pagedCommand({
  description: 'List the builds of Dockerfiles, newest first',
  table: { header: HEADER, row },
  read:
    ({ connect }) =>
    (page) =>
      connect().images.list(page),
});

/** `mayfly image get`: with `--follow` it exits like `mayfly image build`, but after Ctrl-C the build continues. */
export const showCommand = command({
  description: 'Show a build of a Dockerfile: its steps, and of one that failed its line',
  args: {
    id: ID,
    follow: flag('Print what its steps write, on stderr, until it is over'),
  },
  async call({ io, args, connect, options }) {
    const { images, commands } = connect();
    const found = await images.get(imageId(args.id), options);
    return args.follow ? await followBuild(io, { images, commands }, found, io.signal) : found;
  },
  print: (io, image) => builtLines(io, image, stepLines(image)),
  exit(image, io, args) {
    if (io.signal.aborted) return EXIT.interrupted;
    return args.follow ? codeOf(image) : EXIT.ok;
  },
});

/** `mayfly image cancel`: done when its sandboxes are destroyed. */
export const cancelCommand = command({
  description: 'Have a build of a Dockerfile end; the steps that were done are kept',
  args: { id: ID, ...WAIT_OPTION },
  async call({ io, args, connect, options }) {
    const seconds = waitSeconds(args.wait);
    const { images } = connect();
    const asked = await images.cancel(imageId(args.id), options);
    if (isImageFinal(asked.state)) io.note(`${asked.id} was over before`);
    const { signal } = waitSignal(io, seconds);
    return awaitBuildEnd(io, images, asked, signal);
  },
  print: (io, image) => builtLines(io, image),
  exit(image, io) {
    if (io.signal.aborted) return EXIT.interrupted;
    return isImageFinal(image.state) ? EXIT.ok : EXIT.waitedTooLong;
  },
});

/** `mayfly image build|builds|get|cancel` for Dockerfiles; `mayfly image list|pull` for golden images. */
export const imageCommand = nounCommand({
  build: buildCommand,
  builds: buildsCommand,
  get: showCommand,
  cancel: cancelCommand,
  list: listCommand,
  pull: pullCommand,
});
