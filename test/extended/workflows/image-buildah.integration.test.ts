import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect } from 'vitest';
import type { Image } from '../../../clients/typescript/http/openapi.ts';
import { onPath } from '../../../worker/config/artifacts.mjs';
import { Buildah, type Built, differencesOf, treeOf, writeContext } from '../../support/buildah.ts';
import { BASE, type DockerfileCase, STEPS } from '../../support/dockerfile-cases.ts';
import { COPIES } from '../../support/dockerfile-copies.ts';
import { useTestDoor } from '../../support/door.ts';
import { TestImages } from '../../support/images.ts';
import { useSagaCases } from '../../support/saga-cases.ts';
import { useFolder } from '../../support/use-folder.ts';

/**
 * Builds the same Dockerfiles with Mayfly and Debian's buildah (`apt-get install buildah`); skipped without buildah.
 * Takes 15 minutes.
 */
const { alone, mayfly: all } = useSagaCases();
const isThere = onPath('buildah') !== null;
const door = useTestDoor(all);
const folder = useFolder();
let buildah: Buildah;
beforeAll(async () => {
  if (!isThere) return;
  buildah = new Buildah(folder);
  await buildah.prepare(join(all().config.stateDir, 'images/golden-debian12/root'));
});

const test = alone.extend<{ images: TestImages }>({
  images: async ({ mayfly, operations }, use) => {
    const images = new TestImages(mayfly, operations, door);
    await use(images);
    await images.clear();
  },
});

/** Paths of the machine, a sandbox or no layer; /home, since buildah's base is a copy owned by root. */
const LEFT_OUT =
  /^(?:(?:usr|dev|proc|sys|run|tmp|home|var\/tmp|var\/log|etc\/ssh|etc\/systemd)(?:\/.*)?|etc\/(?:hostname|hosts|resolv\.conf|machine-id)|etc\/profile\.d(?:\/mayfly-image\.sh)?|opt\/mayfly|var\/lib)$/;
const treeIn = (root: string) => treeOf(root, (path) => LEFT_OUT.test(path));

async function ours(images: TestImages, stateDir: string, asked: DockerfileCase, context: string): Promise<Built> {
  const { dockerfile, args = {}, target } = asked;
  const archive = execFileSync('tar', ['-c', '-C', context, '.']).toString('base64');
  const aliases = { [BASE]: 'golden-debian12' };
  const body = { name: images.name(), dockerfile, args, aliases, context: archive, ...(target && { target }) };
  const response = await door.call('POST', '/v1/images', body);
  const begun = (await response.json()) as Image;
  if (response.status !== 202) return { failed: JSON.stringify(begun) };
  for (const id of [begun.builderId, ...begun.steps.flatMap(({ command }) => command?.sandboxId ?? [])]) images.own(id);
  const image = await images.over(begun);
  if (image.state !== 'ready') return { failed: JSON.stringify(image.failure) };
  return { root: join(stateDir, 'images', image.name, 'root') };
}

for (const [n, each] of [...STEPS, ...COPIES].entries()) {
  (isThere ? test : test.skip)(`${n}: ${each.title}`, { tags: ['tool'] }, async ({ images, mayfly }) => {
    const context = join(folder, 'context', String(n));
    await writeContext(context, each);
    const { dockerfile: body, declared = {} } = each;
    const asked = { ...each, dockerfile: /^from /im.test(body) ? body : `FROM ${BASE}\n${body}` };
    const theirs = await buildah.build(asked, context);
    const built = await ours(images, mayfly.config.stateDir, asked, context);
    if ('root' in built && 'root' in theirs) {
      const differences = differencesOf(await treeIn(built.root), await treeIn(theirs.root));
      expect(Object.keys(differences), JSON.stringify(differences, null, 1)).toEqual(Object.keys(declared));
    } else if (!('' in declared)) {
      expect(['failed' in built, 'failed' in theirs], JSON.stringify([built, theirs])).toEqual([true, true]);
    }
  });
}
