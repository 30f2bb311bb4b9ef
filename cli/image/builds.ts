import { type ArgsDef, defineCommand } from 'citty';
import type { Image } from '../../client/images.ts';
import { isImageOver } from '../../model/image/image.ts';
import { waitSignal } from '../sandbox/follow.ts';
import { checkArguments, imageId, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { codeOf } from './build.ts';
import { builtLines, stepLines } from './build-text.ts';
import { followBuild, untilOver } from './follow-build.ts';

const ID = { type: 'positional', description: 'Build id (`mayfly image builds`)', required: true } as const;
const SHOW_ARGS = {
  id: ID,
  follow: { type: 'boolean', description: 'Print what its steps write, on stderr, until it is over', default: false },
  ...JSON_OPTION,
} as const satisfies ArgsDef;
const CANCEL_ARGS = { id: ID, ...WAIT_OPTION, ...JSON_OPTION } as const satisfies ArgsDef;
const HEADER = ['ID', 'NAME', 'STATE', 'DONE', 'CACHED', 'BEGUN'];

function row({ id, name, state, done, steps, cached, createdAt }: Image): string[] {
  return [id, name, state, `${done}/${steps.length}`, `${cached}`, createdAt];
}

/** `mayfly image builds`: newest first. */
export function buildsCommand(io: Io) {
  return defineCommand({
    meta: { name: 'builds', description: 'List the builds of Dockerfiles, newest first' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const { images } = connect(io);
      await printList(io, args, { header: HEADER, row }, (page) => images.list(page));
      return EXIT.ok;
    },
  });
}

/** `mayfly image show`: with `--follow` it ends as `mayfly image build` does, but Ctrl-C lets the build go on. */
export function showCommand(io: Io) {
  return defineCommand({
    meta: { name: 'show', description: 'Show a build of a Dockerfile: its steps, and of one that failed its line' },
    args: SHOW_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, SHOW_ARGS);
      const { images, commands } = connect(io);
      const found = await images.get(imageId(args.id), { signal: io.signal });
      const image = args.follow ? await followBuild(io, { images, commands }, found, io.signal) : found;
      if (args.json) io.printJson(image);
      else for (const line of builtLines(io, image, stepLines(image))) io.print(line);
      if (io.signal.aborted) return EXIT.interrupted;
      return args.follow ? codeOf(image) : EXIT.ok;
    },
  });
}

/** `mayfly image cancel`: done when its sandboxes are gone. */
export function cancelCommand(io: Io) {
  return defineCommand({
    meta: { name: 'cancel', description: 'Have a build of a Dockerfile end; the steps that were done are kept' },
    args: CANCEL_ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, CANCEL_ARGS);
      const seconds = waitSeconds(args.wait);
      const { images } = connect(io);
      const asked = await images.cancel(imageId(args.id), { signal: io.signal });
      if (isImageOver(asked.state)) io.note(`${asked.id} was over before`);
      const { signal } = waitSignal(io, seconds);
      const image = await untilOver(io, images, asked, signal);
      if (args.json) io.printJson(image);
      else for (const line of builtLines(io, image)) io.print(line);
      if (io.signal.aborted) return EXIT.interrupted;
      return isImageOver(image.state) ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}
