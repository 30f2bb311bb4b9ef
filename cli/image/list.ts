import { type ImageName, pulledImages, shortImageName } from '../../worker/config/artifacts.mjs';
import { readConfig } from '../../worker/config/config.ts';
import { type ImageState, imageStates } from '../../worker/machine/images.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { pagedCommand } from '../terminal/command.ts';

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
export const listCommand = pagedCommand({
  description: 'List the golden images, whether they are built, and whether they are sources',
  table: { header: HEADER, row },
  async read({ io }) {
    const items = await imageStates(readConfig(io.env));
    return async () => ({ items });
  },
});
