import { describe, expect } from 'vitest';
import { useImageCases } from '../support/image-cases.ts';

/** Builds of Dockerfiles on process trees: steps are commands and snapshots, and finished ones are reused. */
const { test, door } = useImageCases();

describe.concurrent('an image', () => {
  test('is a source with the results of the steps, for any clone', async ({ mayfly, operations, images }) => {
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
      'EOF',
      'USER sandbox',
      'RUN id -un > /tmp/me; cat /tmp/me',
      'CMD ["serve", "a b"]',
      'LABEL a=b',
    ].join('\n');
    const image = await images.build(dockerfile, { args: { WHO: 'you', SPARE: '1' } });
    expect(image).toMatchObject({
      state: 'ready',
      cached: 0,
      done: 7,
      unusedArgs: ['SPARE'],
      failure: null,
      settings: { cmd: ['serve', 'a b'], labels: { a: 'b' }, user: 'sandbox', env: { GREETING: 'hello you' } },
    });
    expect(await mayfly.record(image.builderId)).toMatchObject({ state: 'destroyed', failure: null });
    const { apiKeyId } = image.createdBy;
    expect(await images.audit(image)).toEqual([`image.requested ${apiKeyId}`, `image.ready ${apiKeyId}`]);
    const clone = await mayfly.create(mayfly.input({ source: image.name }));
    const look =
      "cd /srv/app; cat greeting who exec both ../where; stat -c '%a %u:%g' one; bash -lc 'echo $GREETING $Q'; grep -c 'ExecStart=/usr/bin/env -- \"serve\" \"a b\"$' /etc/systemd/system/multi-user.target.wants/mayfly-image.service";
    expect(await operations.sh(clone.id, look)).toBe(
      "hello you\nroot\na  bx=you\ny=$WHO\n/srv/app\n750 65534:65534\nhello you it's\n1\n",
    );
    await mayfly.destroy(clone.id);
  });

  test('a failed step is reported with its line, exit code and end of log, without residue (case 7)', async ({
    mayfly,
    images,
  }) => {
    const image = await images.build('RUN true\nRUN echo said; echo because >&2; exit 3');
    expect(image).toMatchObject({
      state: 'failed',
      done: 1,
      failure: { code: 'image_step_failed', line: 3, exitCode: 3, log: 'because\n' },
    });
    expect(await mayfly.record(image.builderId)).toMatchObject({ state: 'destroyed' });
    const { apiKeyId } = image.createdBy;
    expect(await images.audit(image)).toEqual([`image.requested ${apiKeyId}`, `image.failed ${apiKeyId}`]);
    expect(await images.sources()).toEqual([]);
  });

  test('is refused with its line before anything runs', async ({ images }) => {
    const body = { name: images.name(), dockerfile: 'FROM golden-debian12\nRUN true\nONBUILD RUN x' };
    const answer = await door().call('POST', '/v1/images', body);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ code: 'dockerfile_unsupported', errors: [{ field: 'line 3' }] });
  });
});
