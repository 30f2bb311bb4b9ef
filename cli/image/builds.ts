import type { Image } from '../../clients/typescript/http/openapi.ts';
import { isImageOver } from '../../model/image/image.ts';
import { waitSignal } from '../sandbox/follow.ts';
import { flag, imageId, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { command, pagedCommand } from '../terminal/command.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import { codeOf } from './build.ts';
import { builtLines, stepLines } from './build-text.ts';
import { followBuild, untilOver } from './follow-build.ts';

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

/** `mayfly image get`: with `--follow` it ends as `mayfly image build` does, but Ctrl-C lets the build go on. */
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

/** `mayfly image cancel`: done when its sandboxes are gone. */
export const cancelCommand = command({
  description: 'Have a build of a Dockerfile end; the steps that were done are kept',
  args: { id: ID, ...WAIT_OPTION },
  async call({ io, args, connect, options }) {
    const seconds = waitSeconds(args.wait);
    const { images } = connect();
    const asked = await images.cancel(imageId(args.id), options);
    if (isImageOver(asked.state)) io.note(`${asked.id} was over before`);
    const { signal } = waitSignal(io, seconds);
    return untilOver(io, images, asked, signal);
  },
  print: (io, image) => builtLines(io, image),
  exit(image, io) {
    if (io.signal.aborted) return EXIT.interrupted;
    return isImageOver(image.state) ? EXIT.ok : EXIT.waitedTooLong;
  },
});
