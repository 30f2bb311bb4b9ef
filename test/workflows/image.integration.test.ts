import { describe, expect } from 'vitest';
import { imageWorkflowIdOf } from '../../model/image/image-saga.ts';
import { type TarEntry, tarOf } from '../../model/image/tar.ts';
import { bakeWorkflowIdOf } from '../../model/snapshots/baked-source.ts';
import { eventually } from '../support/eventually.ts';
import { useImageCases } from '../support/image-cases.ts';
import { FULL } from '../support/sweep.ts';

/** Builds of Dockerfiles on process trees: steps are commands and snapshots, what was done is not done again. */
const { test, mayfly: all, door } = useImageCases();

describe.concurrent('an image', () => {
  test('is a source with what the steps made, for whoever clones it', async ({ mayfly, operations, images }) => {
    const dockerfile = [
      'ARG WHO=nobody',
      'ENV GREETING="hello $WHO" Q="it\'s"',
      'WORKDIR /srv/app',
      'RUN echo "$GREETING" > greeting; id -un > who; pwd > /srv/where',
      'RUN ["/bin/sh", "-c", "printf %s \\"$1\\" > exec", "sh", "a  b"]',
      'COPY --chmod=0750 --chown=65534 <<one <<"two" ./',
      'x=$WHO',
      'one',
      'y=$WHO',
      'two',
      'RUN <<EOF',
      'cat one two > both',
      'FROM here',
      'EOF',
      'USER sandbox',
      'RUN id -un > /tmp/me; cat /tmp/me',
      'CMD ["serve", "a b"]',
      'LABEL a=b',
    ].join('\n');
    const failed = await images.build(dockerfile, { args: { WHO: 'you', SPARE: '1' } });
    // FROM is no program: the heredoc is the script of its step, and the last command of it fails
    expect(failed).toMatchObject({ state: 'failed', failure: { line: 12, exitCode: 127 }, unusedArgs: ['SPARE'] });
    const image = await images.build(dockerfile.replace('FROM here\n', ''), { args: { WHO: 'you' } });
    expect(image).toMatchObject({
      state: 'ready',
      cached: 4,
      done: 7,
      failure: null,
      settings: { cmd: ['serve', 'a b'], labels: { a: 'b' }, user: 'sandbox', env: { GREETING: 'hello you' } },
    });
    expect(await mayfly.record(image.builderId)).toMatchObject({ state: 'destroyed', failure: null });
    const { apiKeyId } = image.createdBy;
    expect(await images.audit(failed)).toEqual([`image.requested ${apiKeyId}`, `image.failed ${apiKeyId}`]);
    expect(await images.audit(image)).toEqual([`image.requested ${apiKeyId}`, `image.ready ${apiKeyId}`]);
    const clone = await mayfly.create(mayfly.input({ source: image.name }));
    const look =
      "cd /srv/app; cat greeting who exec both ../where; stat -c '%a %u:%g' one; bash -lc 'echo $GREETING $Q'; grep -c 'ExecStart=/usr/bin/env -- \"serve\" \"a b\"$' /etc/systemd/system/multi-user.target.wants/mayfly-image.service";
    expect(await operations.sh(clone.id, look)).toBe(
      "hello you\nroot\na  bx=you\ny=$WHO\n/srv/app\n750 65534:65534\nhello you it's\n1\n",
    );
    await mayfly.destroy(clone.id);
  });

  test(
    'a step that was done is not done again; one that changed is, and all after it',
    FULL,
    async ({ operations, mayfly, images }) => {
      const of = (second: string) => `RUN date +%s%N > /stamp\nRUN ${second}\nRUN echo three`;
      const first = await images.build(of('echo two'));
      expect(first).toMatchObject({ state: 'ready', cached: 0, done: 4 });
      const again = await images.build(of('echo two'));
      expect(again).toMatchObject({ state: 'ready', cached: 4, done: 4, snapshotId: first.snapshotId });
      await mayfly.keepHistory('image-cached', again.id, imageWorkflowIdOf(again));
      await mayfly.keepHistory('baked-by-copy', again.id, bakeWorkflowIdOf('test', again.name));
      expect(await images.build(of('echo two'), { name: first.name })).toMatchObject({ id: first.id, state: 'ready' });
      const changed = await images.build(of('echo other'));
      expect(changed).toMatchObject({ state: 'ready', cached: 1, done: 4 });
      const stamps: string[] = [];
      for (const { name } of [first, changed]) {
        const clone = await mayfly.create(mayfly.input({ source: name }));
        stamps.push(await operations.sh(clone.id, 'cat /stamp'));
        await mayfly.destroy(clone.id);
      }
      expect(stamps[0]).toBe(stamps[1]);
    },
  );

  test('a snapshot that was deleted is made anew (case 8)', FULL, async ({ mayfly, operations, images }) => {
    const dockerfile = `RUN echo deleted > /d`;
    const first = await images.build(dockerfile);
    const { items } = await mayfly.store.snapshots.list({ sandboxId: first.builderId, limit: 10 });
    for (const snapshot of items) await operations.delete(snapshot);
    expect(await images.build(dockerfile)).toMatchObject({ state: 'ready', cached: 0 });
  });

  test(
    'a step that fails is told with its line, exit code and the end of its log; nothing is left (case 7)',
    FULL,
    async ({ mayfly, images }) => {
      const image = await images.build('RUN true\nRUN echo said; echo because >&2; exit 3');
      expect(image).toMatchObject({
        state: 'failed',
        done: 1,
        failure: { code: 'image_step_failed', line: 3, exitCode: 3, log: 'because\n' },
      });
      expect(await mayfly.record(image.builderId)).toMatchObject({ state: 'destroyed' });
      expect(await images.sources()).toEqual([]);
    },
  );

  test('is cancelled in the middle of a step, with all its processes (case 10)', FULL, async ({ mayfly, images }) => {
    const begun = await images.begin('RUN true\nRUN sleep 1000 & sleep 1000');
    await images.until(begun.id, ({ done }) => done === 1);
    const builder = `/v1/sandboxes/${begun.builderId}`;
    for (const [method, path, body] of [
      ['POST', '/commands', { command: 'echo mine >/srv/theirs' }],
      ['POST', '/snapshots', {}],
      ['PUT', '/files/srv/theirs', Buffer.from('mine')],
      ['DELETE', '/files/srv/theirs', undefined],
    ] as const) {
      const bytes = { 'Content-Type': 'application/octet-stream' };
      const response = await door().call(method, builder + path, body, method === 'PUT' ? bytes : {});
      expect([method, path, response.headers.get('X-Mayfly-Code')]).toEqual([method, path, 'sandbox_not_running']);
    }
    expect((await door().call('GET', builder)).status).toBe(200);
    await images.cancel(begun);
    expect(await images.over(begun)).toMatchObject({ state: 'cancelled', failure: null, done: 1 });
    const said = ['requested', 'cancel-asked', 'cancelled'].map((kind) => `image.${kind} ${begun.createdBy.apiKeyId}`);
    expect(await images.audit(begun)).toEqual(said);
    expect(await mayfly.record(begun.builderId)).toMatchObject({ state: 'destroyed' });
    expect(await mayfly.residue()).toEqual([]);
    expect(await images.sources()).toEqual([]);
  });

  test('that is built twice at once is built once (case 5)', FULL, async ({ images }) => {
    const name = images.name();
    const [a, b] = await Promise.all([1, 2].map(() => images.begin('RUN echo same', { name })));
    expect(a?.id).toBe(b?.id);
    if (a) expect(await images.over(a)).toMatchObject({ state: 'ready' });
  });

  test(
    'has what COPY takes of the context, and its cache knows bytes, not times (case 4)',
    FULL,
    async ({ mayfly, operations, images }) => {
      const dockerfile = [
        'RUN mkdir -p /srv/there /srv/real && ln -s real /srv/linked && chmod 0711 /srv/there',
        'COPY one.txt /srv/there',
        'COPY one.txt /srv/new/name',
        'COPY --chown=sandbox --chmod=4750 dir *.json <<here /srv/linked/',
        'of $HOME',
        'here',
        'RUN cat /srv/linked/sub/deep',
      ].join('\n');
      const at = (path: string, text: string): TarEntry => {
        return { path, type: 'file', mode: 0o755, bytes: Buffer.from(text), link: null };
      };
      const folder = (path: string): TarEntry => ({ ...at(path, ''), type: 'directory' });
      const tree = (deep: string) => [
        at('.dockerignore', '*.log\n!keep.log\n'),
        at('one.txt', 'one'),
        folder('dir'),
        folder('dir/sub'),
        at('dir/sub/deep', deep),
        { ...at('dir/link', ''), type: 'symlink' as const, link: '/etc/hostname' },
        at('a.json', '{}'),
        at('b.json', '[]'),
      ];
      const context = (deep: string) => Buffer.from(tarOf(tree(deep))).toString('base64');
      const first = await images.build(dockerfile, { context: context('1') });
      expect(first).toMatchObject({ state: 'ready', failure: null, cached: 0 });
      expect(await mayfly.store.imageContexts.get(first.id)).toBeNull();
      const clone = await mayfly.create(mayfly.input({ source: first.name }));
      const look =
        "cd /srv; cat there/one.txt new/name; stat -c '%n %a %U:%G' there new/name linked real/sub/deep real/link real/b.json real/here; readlink linked real/link; cat real/here";
      expect(await operations.sh(clone.id, look)).toBe(
        [
          'oneonethere 711 root:root',
          'new/name 755 root:root',
          'linked 777 root:root',
          'real/sub/deep 4750 sandbox:sandbox',
          'real/link 777 sandbox:sandbox',
          'real/b.json 4750 sandbox:sandbox',
          'real/here 4750 sandbox:sandbox',
          'real',
          '/etc/hostname',
          'of \n',
        ].join('\n'),
      );
      await mayfly.destroy(clone.id);
      expect(await images.build(dockerfile, { context: context('1') })).toMatchObject({ cached: 6, state: 'ready' });
      expect(await images.build(dockerfile, { context: context('2') })).toMatchObject({ cached: 3, state: 'ready' });
    },
  );

  test('is refused by its line before anything runs', async ({ images }) => {
    const body = { name: images.name(), dockerfile: 'FROM golden-debian12\nRUN true\nVOLUME /x' };
    const answer = await door().call('POST', '/v1/images', body);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ code: 'dockerfile_unsupported', errors: [{ field: 'line 3' }] });
  });
});

test(
  'goes on when the control worker and the host worker are started anew in a step: that runs once (case 1)',
  FULL,
  async ({ mayfly, operations, images }) => {
    const begun = await images.begin('RUN echo run >> /runs; sleep 4; echo end >> /runs\nRUN echo next >> /runs');
    const { builderId } = begun;
    await eventually(
      async () => (await mayfly.store.commands.list({ sandboxId: builderId, limit: 1 })).items[0]?.state,
      (state) => state === 'running',
    );
    await all().startControl();
    await mayfly.host?.stop();
    await mayfly.startHost();
    const image = await images.over(begun);
    expect(image).toMatchObject({ state: 'ready', failure: null, done: 3 });
    const clone = await mayfly.create(mayfly.input({ source: image.name }));
    expect(await operations.sh(clone.id, 'cat /runs')).toBe('run\nend\nnext\n');
    await mayfly.destroy(clone.id);
  },
);
