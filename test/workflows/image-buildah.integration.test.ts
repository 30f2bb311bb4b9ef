import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { Buildah, differences, treeOf, writeContext } from '../support/buildah.ts';
import { TestDoor } from '../support/door.ts';
import { BASE, CASES } from '../support/dockerfile-cases.ts';
import { TestImages } from '../support/images.ts';
import { useSagaCases } from '../support/saga-cases.ts';

const { alone, mayfly: all } = useSagaCases();
let door: TestDoor;
let folder: string;
let buildah: Buildah;
beforeAll(async () => {
  door = await TestDoor.open(all());
  folder = await mkdtemp(join(tmpdir(), 'mayfly-'));
  buildah = new Buildah(folder);
  await buildah.prepare(join(all().config.stateDir, 'images/golden-debian12/root'));
});
afterAll(async () => {
  door.close();
  await rm(folder, { recursive: true });
});

const test = alone.extend<{ images: TestImages }>({
  images: async ({ mayfly, operations }, use) => {
    const images = new TestImages(mayfly, operations, door);
    await use(images);
    await images.clear();
  },
});
const SKIP = /^(?:usr|dev|proc|sys|run|tmp|var\/tmp|var\/log|etc\/(?:hostname|hosts|resolv.conf|machine-id|ssh|systemd|profile.d\/mayfly-image.sh))(?:\/|$)/;

test.for(CASES.map((each, n) => [n, each.title, each] as const))('%s %s', async ([n, title, each], { images, mayfly }) => {
  const context = join(folder, 'context', String(n));
  await writeContext(context, each.files);
  const dockerfile = /^\s*from /im.test(each.dockerfile) ? each.dockerfile : `FROM ${BASE}\n${each.dockerfile}`;
  const theirs = await buildah.build({ ...each, dockerfile }, context);
  const tar = execFileSync('tar', ['-c', '--sort=name', '-C', context, '.']).toString('base64');
  const body = { name: images.name(), dockerfile, aliases: { [BASE]: 'golden-debian12' }, context: tar, args: each.args ?? {}, ...(each.target && { target: each.target }) };
  const response = await door.call('POST', '/v1/images', body);
  const begun = await response.json() as any;
  let said: unknown;
  if (response.status !== 202) said = { ours: begun.detail ?? begun, errors: begun.errors, theirs };
  else {
    for (const { command } of begun.steps) if (command) images.own(command.sandboxId);
    images.own(begun.builderId);
    const image = await images.over(begun);
    if (image.state !== 'ready' || typeof theirs !== 'string') said = { ours: image.failure, theirs };
    else said = differences(await treeOf(join(mayfly.config.stateDir, 'images', image.name, 'root'), SKIP), await treeOf(theirs, SKIP));
  }
  appendFileSync('/tmp/img-buildah.out', `${n} ${title}: ${JSON.stringify(said, null, 1)}\n`);
}, 300_000);
