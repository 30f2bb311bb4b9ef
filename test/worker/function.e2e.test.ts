// @module-tag full
import { createHmac, randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type TarEntry, tarOf } from '../../model/image/tar.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../support/served-on-libvirt.ts';

/** A minute on two cores alone; without KVM, beside other work, many. Milliseconds. */
const LONGEST_MS = 1_200_000;
const SECRET = "It's a Secret to Everybody";
const mayfly = useServedOnLibvirt();

const file = (path: string, content: string): TarEntry => {
  return { path, type: 'file', mode: 0o755, bytes: new TextEncoder().encode(content), link: null };
};

/** What a continuous integration would run of a pushed tree; here it comes with the function. */
const TREE = tarOf([
  file('check.sh', '#!/bin/sh\n[ "$(cat answer)" = 42 ] && echo ok | tee $MAYFLY_ARTIFACTS/report.txt\n'),
  file('answer', '42\n'),
  file(
    'main.sh',
    [
      '#!/bin/sh',
      'set -e',
      'cat > /tmp/event',
      'cmp /tmp/event $MAYFLY_EVENT',
      'id -un; cat /proc/sys/kernel/random/boot_id',
      './check.sh',
      'printf \'{"tested":%s}\' "$(grep -o \'"after":"[^"]*"\' $MAYFLY_EVENT | cut -d: -f2)" > $MAYFLY_RESULT',
    ].join('\n'),
  ),
]);

// Promise: a push that GitHub signs is one run in a virtual machine of its own, woken from memory; sent twice, it is the same run; nothing of the machine is left. Costs a minute.
test(
  'a signed push has the pushed tree tested in a virtual machine, once',
  async () => {
    const { client } = mayfly();
    const snapshotId = await bootedSnapshot(mayfly());
    const tar = Buffer.from(TREE).toString('base64');
    await client.functions.deploy('on-push', { snapshotId, argv: ['./main.sh'], files: { tar } });
    const { MAYFLY_URL: base = '', MAYFLY_API_KEY: key = '' } = mayfly().cliEnv;
    const asked = { function: 'on-push', scheme: 'github', secrets: [SECRET] };
    const json = { 'Content-Type': 'application/json' };
    const bearer = { ...json, Authorization: `Bearer ${key}` };
    const made = await fetch(`${base}/v1/hooks`, { method: 'POST', headers: bearer, body: JSON.stringify(asked) });
    const { path } = (await made.json()) as { path: string };
    const body = JSON.stringify({ after: 'c0ffee', repository: { url: 'https://example.com/repo' } });
    const headers = {
      ...json,
      'X-GitHub-Event': 'push',
      'X-GitHub-Delivery': randomUUID(),
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
    };
    const send = async (sent: string) => {
      const response = await fetch(`${base}${path}`, { method: 'POST', headers, body: sent });
      return { status: response.status, ...((await response.json()) as { runId?: string }) };
    };
    const first = await send(body);
    expect(first).toMatchObject({ status: 202, runId: expect.stringMatching(/^run-/) });
    expect(await send(body)).toMatchObject({ status: 200, runId: first.runId });
    expect(await send(`${body} `)).toMatchObject({ status: 401 });

    const began = performance.now();
    const run = await client.runs.ended(first.runId ?? '');
    process.stderr.write(`a run on a virtual machine was over after ${Math.round(performance.now() - began)} ms\n`);
    const said = await text((await client.runs.output(run.id)).bytes);
    expect(run, said).toMatchObject({
      outcome: 'succeeded',
      cleanup: 'proved',
      event: { type: 'com.github.push', source: 'https://example.com/repo' },
      attempts: [{ n: 1, cleanup: 'proved' }],
      artifacts: [{ path: 'report.txt' }],
    });
    expect(Buffer.from((await client.runs.result(run.id)).bytes).toString()).toBe('{"tested":"c0ffee"}');
    expect(await client.getSandbox(run.attempts[0]?.sandboxId ?? '')).toMatchObject({
      state: 'destroyed',
      spec: { snapshotId },
      proof: { observations: expect.arrayContaining([expect.objectContaining({ layer: 'domain', absent: true })]) },
    });
  },
  LONGEST_MS,
);
