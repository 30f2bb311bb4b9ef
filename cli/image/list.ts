import { defineCommand } from 'citty';
import { type ImageName, pulledImages, shortImageName } from '../../worker/config/artifacts.mjs';
import { readConfig } from '../../worker/config/config.ts';
import { type ImageState, imageStates } from '../../worker/machine/images.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const HEADER = ['NAME', 'BUILT', 'SIZE', 'SOURCE'];

function row({ name, image, source }: ImageState): string[] {
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

/** `mayfly image list`: of this machine, whether or not anything of Mayfly runs on it. */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the golden images, whether they are built, and whether they are sources' },
    args: LIST_OPTION,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST_OPTION);
      const items = await imageStates(readConfig(io.env));
      await printList(io, args, { header: HEADER, row }, async () => ({ items, nextCursor: null }));
      return EXIT.ok;
    },
  });
}
