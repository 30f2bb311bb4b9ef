import { describe, expect } from 'vitest';
import { useImageCases } from '../../support/image-cases.ts';

/** Stages of a Dockerfile on process trees: each is built in its own sandbox, and copies files to another. */
const { test } = useImageCases();

const STAGES = [
  'RUN mkdir -p /base && echo base >/base/name',
  'FROM base AS build',
  'RUN mkdir -p /out/deep && cd /out && echo one >one && ln one same && ln -s /etc/hostname link && echo .h >.hidden',
  "RUN printf x >'/out/deep/a b; $(touch y)' && chown 1234:4321 /out/deep && chmod 2755 /out/deep && ln -s /out /linked",
  'FROM golden-debian12 AS unused',
  'RUN exit 9',
  'FROM base',
  'RUN mkdir -p /srv/there && ln -s /srv/there /srv/by && chmod 0711 /srv/there',
  'COPY --from=build /linked /srv/by/',
  'COPY --from=build --chown=sandbox --chmod=0640 /out/one /srv/there',
  'COPY --from=build /out/one /srv/new/name',
  'COPY --from=1 /out/*e /srv/many/',
  'RUN test -e /base/name && test ! -e /out',
].join('\n');

describe.concurrent('stages of an image', () => {
  test('copy files with owners, modes, links and names; unneeded stages are skipped', async ({
    mayfly,
    operations,
    images,
  }) => {
    const dockerfile = `FROM golden-debian12 AS base\n${STAGES}`;
    const first = await images.whole(dockerfile);
    expect(first).toMatchObject({ state: 'ready', failure: null, cached: 0, done: 10 });
    const builders = new Set(first.steps.map(({ command }) => command?.sandboxId ?? ''));
    expect(builders.size).toBe(3);
    for (const id of builders) expect(await mayfly.record(id)).toMatchObject({ state: 'destroyed', failure: null });
    const clone = await mayfly.create(mayfly.input({ source: first.name }));
    const look =
      "cd /srv; stat -c '%n %a %u:%g %h' there there/deep there/deep/* there/same new/name many/*; stat -c '%n %a %U' there/one; readlink there/link by; cat there/.hidden; ls -A /var/tmp";
    expect((await operations.sh(clone.id, look)).split('\n')).toEqual([
      'there 711 0:0 3',
      'there/deep 2755 1234:4321 2',
      'there/deep/a b; $(touch y) 644 0:0 1',
      expect.stringMatching(/^there\/same 644 0:0 \d$/),
      'new/name 644 0:0 1',
      'many/one 644 0:0 1',
      'many/same 644 0:0 1',
      'there/one 640 sandbox',
      '/etc/hostname',
      '/srv/there',
      '.h',
      '',
    ]);
    await mayfly.destroy(clone.id);
    const again = await images.whole(dockerfile);
    expect(again).toMatchObject({ state: 'ready', cached: 10, done: 10 });
    // The stage that is copied from is cached: it starts from its snapshot, and runs none of its steps.
    const changed = await images.whole(dockerfile.replace('/srv/new/name', '/srv/new/other'));
    expect(changed).toMatchObject({ state: 'ready', failure: null, cached: 6, done: 10 });
  });

  test('fail with the line of a missing file, and leave no residue', async ({ mayfly, images }) => {
    const image = await images.whole(
      'FROM golden-debian12 AS a\nRUN true\nFROM golden-debian12\nRUN true\nCOPY --from=a /none*/x /srv/\n',
    );
    expect(image).toMatchObject({ state: 'failed', failure: { code: 'image_step_failed', line: 5, exitCode: 1 } });
    expect(image.failure?.log).toContain('matches /none*/x');
    expect(await mayfly.residue()).toEqual([]);
    expect(await images.sources()).toEqual([]);
  });

  test('are cancelled together', async ({ mayfly, images }) => {
    const begun = await images.beginWhole(
      'FROM golden-debian12 AS a\nRUN true\nFROM golden-debian12\nCOPY --from=a /etc/hostname /h\nRUN sleep 1000',
    );
    await images.until(begun.id, ({ done }) => done === 2);
    await images.cancel(begun);
    expect(await images.over(begun)).toMatchObject({ state: 'cancelled', done: 2 });
    expect(await mayfly.residue()).toEqual([]);
  });
});
