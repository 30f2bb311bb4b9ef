import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { buildTar, type TarEntry } from '../../../model/image/tar.ts';
import type { Statement } from '../../../model/receipts/in-toto.ts';
import type { Envelope } from '../../../model/receipts/receipt.ts';
import { readyAttestationTools } from '../../../scripts/setup/python/attestation-tools.mjs';
import { eventually } from '../../support/eventually.ts';
import { bootedSnapshot, useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

/** Timeout of a test, ms: a minute on two idle cores, many without KVM beside other work. */
const LONGEST_MS = 1_200_000;
const SECRET = "It's a Secret to Everybody";
const mayfly = useServedOnLibvirt({}, { MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8' });
const run = promisify(execFile);

let snapshotId: string;
beforeAll(async () => {
  snapshotId = await bootedSnapshot(mayfly());
}, LONGEST_MS);

const file = (path: string, content: string | Uint8Array): TarEntry => {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return { path, type: 'file', mode: 0o755, bytes, link: null };
};

/** Pushed tree: the guest has no network, so the function brings the tree and Debian's `make`. */
const treeWith = (make: Uint8Array) =>
  buildTar([
    file('make', make),
    file('Makefile', 'test:\n\t@[ "$$(cat answer)" = 42 ] && echo ok | tee $(MAYFLY_ARTIFACTS)/report.txt\n'),
    file('answer', '42\n'),
    file(
      'main.sh',
      [
        '#!/bin/sh',
        'set -e',
        'cat > /tmp/event',
        'cmp /tmp/event $MAYFLY_EVENT',
        'id -un; cat /proc/sys/kernel/random/boot_id',
        './make test',
        'printf \'{"tested":%s}\' "$(grep -o \'"after":"[^"]*"\' $MAYFLY_EVENT | cut -d: -f2)" > $MAYFLY_RESULT',
      ].join('\n'),
    ),
  ]);

/** Returns the names of the byproducts in a receipt file. */
async function receiptNames(path: string): Promise<string[]> {
  const { payload } = JSON.parse(await readFile(path, 'utf8')) as Envelope;
  const statement = JSON.parse(Buffer.from(payload, 'base64').toString()) as Statement;
  return statement.predicate.runDetails.byproducts.map(({ name }) => name);
}

/** Receiver process on the loopback, with the events that it has verified. */
class VerifyingReceiver {
  readonly lines: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<VerifyingReceiver> {
    const script = join(import.meta.dirname, '../../worker/verifying-receiver.mjs');
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
    const output = createInterface({ input: child.stdout });
    const [port] = (await once(output, 'line')) as [string];
    const receiver = new VerifyingReceiver(child, `http://127.0.0.1:${port}/`);
    output.on('line', (line) => void receiver.lines.push(line));
    return receiver;
  }

  trust(secret: string): void {
    this.child.stdin?.write(`${secret}\n`);
  }

  async stop(): Promise<void> {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

test(
  'a signed push runs `make test` of the pushed tree in a virtual machine, once, and all receivers are notified',
  async () => {
    const { client } = mayfly();
    const receiver = await VerifyingReceiver.start();
    const folder = await mkdtemp(join(tmpdir(), 'mayfly-push-'));
    try {
      const endpoint = await client.webhookEndpoints.create({ url: receiver.url, types: ['run.ended', 'run.cleaned'] });
      receiver.trust(endpoint.secret ?? '');
      const tar = Buffer.from(treeWith(await readFile('/usr/bin/make'))).toString('base64');
      await client.functions.deploy('on-push', { snapshotId, argv: ['./main.sh'], files: { tar }, diff: true });
      const { path } = await client.hooks.create({ function: 'on-push', scheme: 'github', secrets: [SECRET] });
      const { MAYFLY_URL: base = '', MAYFLY_API_KEY: key = '' } = mayfly().cliEnv;
      const body = JSON.stringify({ after: 'c0ffee', repository: { url: 'https://example.com/repo' } });
      const headers = {
        'Content-Type': 'application/json',
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
      const over = await client.runs.ended(first.runId ?? '');
      process.stderr.write(`a run on a virtual machine was over after ${Math.round(performance.now() - began)} ms\n`);
      const said = await text((await client.runs.output(over.id)).bytes);
      expect(over, said).toMatchObject({
        outcome: 'succeeded',
        cleanup: 'proved',
        event: { type: 'com.github.push', source: 'https://example.com/repo' },
        attempts: [{ n: 1, cleanup: 'proved' }],
        artifacts: [{ path: 'report.txt' }],
        diff: { failure: null },
      });
      const changes = await client.runs.diff(over.id);
      expect(changes.flatMap((each) => (each.line === 'change' ? [each.path] : []))).toContain('/tmp/event');
      expect(Buffer.from((await client.runs.result(over.id)).bytes).toString()).toBe('{"tested":"c0ffee"}');
      const told = await eventually(
        async () => receiver.lines,
        (lines) => lines.length >= 2,
      );
      expect(told.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        { type: 'run.ended', data: { runId: over.id, outcome: 'succeeded' } },
        { type: 'run.cleaned', data: { runId: over.id, cleanup: 'proved' } },
      ]);
      expect(await client.getSandbox(over.attempts[0]?.sandboxId ?? '')).toMatchObject({
        state: 'destroyed',
        spec: { snapshotId },
        proof: { observations: expect.arrayContaining([expect.objectContaining({ layer: 'domain', absent: true })]) },
      });

      const read = (at: string) => fetch(`${base}${at}`, { headers: { Authorization: `Bearer ${key}` } });
      const receipt = await eventually(() => read(`/v1/runs/${over.id}/receipt`), { status: 200 });
      await writeFile(join(folder, 'receipt.json'), await receipt.text());
      const { items } = (await (await read('/v1/receipt-keys')).json()) as { items: { publicKey: string }[] };
      const verify = join(import.meta.dirname, '../../cli/verify-receipt.py');
      const python = readyAttestationTools() ?? 'python with attestation-tools';
      const verified = await run(python, [verify, join(folder, 'receipt.json'), items[0]?.publicKey ?? '']);
      expect(verified.stdout).toBe('verified 2 subjects\n');
      expect(await receiptNames(join(folder, 'receipt.json'))).toContain('diff');
    } finally {
      await receiver.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  LONGEST_MS,
);

test(
  'runs of a function with a setup are forks of its memory, each a machine of its own (case 55)',
  async () => {
    const { client } = mayfly();
    const script = 'echo once >> /var/tmp/done; nohup sleep 86400 >/dev/null 2>&1 & echo $! > /var/tmp/pid';
    const setup = { source: 'golden-debian12', script };
    const command = [
      'cat /var/tmp/done; ps -o args= -p $(cat /var/tmp/pid); cat /etc/machine-id /proc/sys/kernel/random/boot_id',
      'head -c 16 /dev/urandom | od -An -tx1 | tr -d " "; ip -br -4 addr show scope global; date +%s',
    ].join('; ');
    const { version } = await client.functions.deploy('prepared', { setup, command });
    const ready = await client.functions.prepared('prepared', version.version);
    expect(ready.setup).toMatchObject({ state: 'ready', snapshotKind: 'full' });
    const runs = await Promise.all([1, 2, 3].map((n) => client.runs.create('prepared', { n })));
    const said: string[][] = [];
    for (const { id } of runs) {
      const over = await client.runs.ended(id);
      const output = await text((await client.runs.output(id)).bytes);
      expect(over, output).toMatchObject({ outcome: 'succeeded', cleanup: 'proved' });
      const lines = output.trim().split('\n');
      expect(lines.slice(0, 2), output).toEqual(['once', 'sleep 86400']);
      expect(Math.abs(Number(lines.at(-1)) - Date.parse(over.endedAt ?? '') / 1_000)).toBeLessThan(60);
      said.push(lines);
    }
    for (const [what, at] of Object.entries({ 'machine-id': 2, 'random bytes': 4, address: 5 })) {
      expect(new Set(said.map((lines) => lines[at])).size, `${what}: ${JSON.stringify(said)}`).toBe(3);
    }
  },
  LONGEST_MS,
);

test(
  'the disks of a failed run are retained, with the output of its process, and without its secrets (case 52)',
  async () => {
    const { client } = mayfly();
    const canary = `canary-${randomUUID()}`;
    await client.secrets.put('token', canary);
    const command = [
      'echo evidence > /var/tmp/evidence',
      '[ "$(cat "$MAYFLY_SECRETS/token")" = "$TOKEN" ] || exit 9',
      'echo "$TOKEN"; exit 3',
    ].join('; ');
    const secrets = [
      { name: 'token', env: 'TOKEN' },
      { name: 'token', file: 'token' },
    ];
    const spec = { snapshotId, command, secrets };
    await client.functions.deploy('failing', { ...spec, keep: { onFailure: 'disk' } });
    const { id } = await client.runs.create('failing');
    const over = await client.runs.ended(id);
    const output = await text((await client.runs.output(id)).bytes);
    expect(output).toBe('***\n');
    expect(over).toMatchObject({ outcome: 'failed', exitCode: 3, cleanup: 'proved', kept: { failure: null } });
    const kept = over.kept?.snapshotId ?? '';
    expect(await client.snapshots.get(kept)).toMatchObject({ state: 'ready', kind: 'disk' });
    const [fork] = await client.snapshots.fork({ snapshotId: kept, count: 1 }, { waitSeconds: 600 });
    const sandboxId = fork && 'sandbox' in fork ? fork.sandbox.id : expect.fail('no fork');
    const looked = await client.commands.run(
      sandboxId,
      { command: `cat /var/tmp/evidence; grep -rlF ${canary} /etc /home /root /run /tmp /var; echo looked` },
      { waitSeconds: 600 },
    );
    const found = await text(await client.commands.output(sandboxId, looked.id, 'stdout'));
    expect([looked.exitCode, found]).toEqual([0, 'evidence\nlooked\n']);
    await client.destroySandbox(sandboxId, { waitSeconds: 600 });
    await client.snapshots.delete(kept, { waitSeconds: 600 });
  },
  LONGEST_MS,
);
