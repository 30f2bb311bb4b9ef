import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { useImageCases } from '../../support/image-cases.ts';

/** Residue of a step, on process trees: none of its secrets, and none of its processes. */
const { test, door } = useImageCases();

const SECRET = 'pl4nted*[with].$igns/and\\more';
const LINES = `first-l1ne-of-it\n${SECRET}\n`;
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe.concurrent('a step of an image', () => {
  test('gets secrets that leave no trace (case 6)', async ({ mayfly, operations, images }) => {
    const dockerfile = [
      'RUN useradd -m reader',
      'RUN --mount=type=secret,id=lines,target=/opt/new/lines,uid=65534 --mount=type=secret,id=token,required=true \\',
      '    sha256sum </opt/new/lines >/sum; stat -c "%a %u" /opt/new/lines /run/secrets/token >>/sum; \\',
      '    cat /opt/new/lines; echo "said <$(cat /run/secrets/token)>" >&2; (sleep 1000; cat /run/secrets/token) & \\',
      '    cat >/stdin; ls /run/mayfly-secrets >/dev/null',
      'USER nobody',
      'RUN --mount=type=secret,id=token ! cat /run/secrets/token',
      'RUN --mount=type=secret,id=absent test ! -e /run/secrets/absent && test ! -e /opt/new',
      'RUN --mount=type=secret,id=token,mode=0444 exit 3 || echo never',
    ].join('\n');
    const secrets = { token: base64(SECRET), lines: base64(LINES) };
    const image = await images.build(dockerfile, { secrets });
    expect(image).toMatchObject({ state: 'failed', done: 4, failure: { line: 10, exitCode: 3 } });
    const [, told] = image.steps;
    const output = async (stream: string) => {
      const { sandboxId = '', id = '' } = told?.command ?? {};
      return (await door().call('GET', `/v1/sandboxes/${sandboxId}/commands/${id}/output?stream=${stream}`)).text();
    };
    expect([await output('stdout'), await output('stderr')]).toEqual(['***\n***\n', 'said <***>\n']);
    expect(await mayfly.store.imageContexts.get(image.id)).toBeNull();

    const whole = await images.build(dockerfile.replace('exit 3 || ', ''), {
      secrets: { ...secrets, token: base64('another-token') },
    });
    // The value of a secret is in no cache key.
    expect(whole).toMatchObject({ state: 'ready', cached: 4 });
    const clone = await mayfly.create(mayfly.input({ source: whole.name }));
    const look = 'cat /sum /stdin; ls -d /opt/new /run/secrets /run/mayfly-secrets 2>/dev/null; true';
    const lines = await operations.sh(clone.id, look);
    expect(lines).toMatch(/^[0-9a-f]{64} {2}-\n400 65534\n400 0\n$/);
    await mayfly.destroy(clone.id);
    const found = await promisify(execFile)('grep', ['-rlF', 'pl4nted', mayfly.config.stateDir]).catch(
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
    expect(found).toEqual({ code: 1, stdout: '' });
  });

  test('redacts secrets that are prefixes of each other, overlap, or are encoded', async ({ images }) => {
    const mounts = ['short', 'long', 'tail'].map((id) => `--mount=type=secret,id=${id}`).join(' ');
    const program =
      'cd /run/secrets; cat long; echo; echo "<$(cat long)-more>"; base64 -w0 long; echo; od -An -v -tx1 long | tr -d " \\n"';
    const secrets = {
      short: base64('hunter-two'),
      long: base64('hunter-two-TAIL-77'),
      tail: base64('TAIL-77-more'),
    };
    const image = await images.build(`RUN ${mounts} ${program}`, { secrets });
    const { sandboxId = '', id = '' } = image.steps[0]?.command ?? {};
    const shown = await door().call('GET', `/v1/sandboxes/${sandboxId}/commands/${id}/output?stream=stdout`);
    expect(await shown.text()).toBe('***\n<***>\n***\n***');
  });

  test('is refused without a required secret, before any step runs', async ({ images }) => {
    const body = {
      name: images.name(),
      dockerfile: 'FROM golden-debian12\nRUN true\nRUN --mount=type=secret,id=x,required=true true',
    };
    const answer = await door().call('POST', '/v1/images', body);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ code: 'dockerfile_unsupported', errors: [{ field: 'line 3' }] });
  });

  test('ends with all its processes, of any user and with any disguise', async ({ images }) => {
    const hiding = [
      'RUN sleep 987 & (setsid sleep 987 &) ; nohup sleep 987 >/dev/null 2>&1 & env -i sleep 987 & sleep 0.2',
      'USER nobody',
      'RUN trap "" TERM HUP; sleep 987 & echo left',
      'USER root',
      'RUN pgrep -x -f "sleep 987" && exit 5; ls /proc/[0-9]*/cmdline | wc -l >/dev/null',
    ];
    expect(await images.build(hiding.join('\n'))).toMatchObject({ state: 'ready', failure: null });
  });
});
