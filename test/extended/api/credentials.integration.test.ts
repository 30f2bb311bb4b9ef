import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApp } from '../../../api/app.ts';
import type { Credential, IssuedCredential } from '../../../clients/typescript/http/openapi.ts';
import type { Page } from '../../../clients/typescript/http/resource.ts';
import { exec } from '../../../host/os/exec.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import type { SandboxInput } from '../../../model/sagas/messages.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import type { Scope } from '../../../model/scopes.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { jsonOf, keysByScope } from '../../api/support.ts';
import { ended, isAlive, SshCaller } from '../../support/ssh-caller.ts';
import { useFolder } from '../../support/use-folder.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

const mayfly = useMayfly();
const folder = useFolder();
let secrets: Record<Scope | 'both', string>;

beforeAll(async () => {
  const make = async (...scopes: Scope[]) =>
    (await mayfly().store.apiKeys.create({ project: 'default', name: 'test', scopes })).secret;
  secrets = { ...(await keysByScope(make)), both: await make('sandboxes:read', 'sandboxes:write') };
});

async function call(
  method: string,
  path: string,
  body?: unknown,
  key = secrets.both,
  headers: Record<string, string> = {},
) {
  const { store, sagas } = mayfly();
  const guests = {
    request: async () => {
      throw new Error('the credentials ask no guest themselves');
    },
  };
  const app = createApp({ store, sagas, guests, version: '0.0.0', logger: pino({ level: 'silent' }) });
  const json = body === undefined ? {} : { body: JSON.stringify(body) };
  const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
  return app.request(path, { method, headers: { Authorization: `Bearer ${key}`, ...type, ...headers }, ...json });
}

/** Requests a certificate from the API for a new key pair. */
async function admitted(id: string, ttlSeconds?: number): Promise<SshCaller> {
  const pair = makeKeyPair('caller');
  const answer = await call('POST', `/v1/sandboxes/${id}/credentials`, { publicKey: pair.publicKey, ttlSeconds });
  expect(answer.status).toBe(201);
  return SshCaller.with(folder, pair, await jsonOf<IssuedCredential>(answer));
}

let input: SandboxInput;
let sandbox: SandboxRecord;
const path = () => `/v1/sandboxes/${sandbox.id}/credentials`;
const revoked = async () =>
  (await mayfly().store.audit.entries(sandbox.id, { limit: 1_000 }))
    .map(
      ({ body }) =>
        JSON.parse(body) as { kind: string; actor: unknown; detail: { certificates: { serial: string }[] } },
    )
    .filter(({ kind }) => kind === 'certificate.revoked');

describe('with a running sandbox', () => {
  beforeEach(async () => {
    input = mayfly().input({ agentId: 'build agent #7' });
    sandbox = await mayfly().create(input);
    expect(sandbox.state).toBe('running');
  });

  test("a caller's own key is signed: principal, identity, lifetime to the second, pinned host key, and login work", async () => {
    const caller = await admitted(sandbox.id, 90);
    const { issued } = caller;
    expect(issued).toMatchObject({ principal: sandbox.id, ...sandbox.ssh });
    expect(issued.keyId).toMatch(/^agent=build%20agent%20%237 key=[0-9a-f]{12} source=golden-debian12 sandbox=sbx-/);
    expect(issued.keyId.endsWith(` certificate=${issued.serial}`)).toBe(true);
    expect(Date.parse(issued.validBefore) - Date.parse(issued.validAfter)).toBe((90 + 120) * 1_000);
    expect(await caller.run('whoami')).toBe('sandbox\n');
    const known = join(folder, 'known');
    await writeFile(known, `${issued.knownHosts}\n`);
    const { stdout } = await exec('ssh-keygen', ['-F', `[${issued.address}]:${issued.port}`, '-f', known]);
    expect(stdout).toContain('found');

    const { items } = await jsonOf<Page<Credential>>(call('GET', path()));
    expect(items.map(({ purpose }) => purpose)).toEqual(['caller', 'host']);
    expect(items[0]).toMatchObject({ serial: issued.serial, keyId: issued.keyId, revokedAt: null });
    expect(JSON.stringify(items)).not.toContain('AAAA');
    const audit = await mayfly().store.audit.entries(sandbox.id, { limit: 100 });
    expect(audit.filter(({ body }) => body.includes(issued.keyId) && body.includes('certificate.issued'))).toHaveLength(
      1,
    );
  });

  test('caa-015: a revoked certificate is refused and its shell ends; another one and the platform stay connected', async () => {
    const [one, other] = [await admitted(sandbox.id), await admitted(sandbox.id)];
    const [mine, idle, theirs] = [await one.shell(), await one.shell(), await other.shell()] as const;
    const platform = await agentOf(sandbox.id);
    try {
      mine.stdin?.write('setsid sleep 300 </dev/null >/dev/null 2>&1 &\n');
      await expect.poll(() => other.run('pgrep -c -x sleep || true')).toBe('1\n');
      const answer = await call('DELETE', `${path()}/${one.issued.serial}`);
      expect(answer.status).toBe(200);
      expect(await jsonOf<Credential>(answer)).toMatchObject({
        serial: one.issued.serial,
        refusedAt: expect.any(String),
      });
      await ended(mine);
      await ended(idle);
      expect(await one.isRefused()).toBe(true);
      expect(isAlive(theirs)).toBe(true);
      expect(await other.run('pgrep -c -x sleep || true')).toBe('0\n');
      expect(platform.closed).toBe(false);
      expect(await agentOf(sandbox.id)).toBe(platform);
    } finally {
      theirs.kill();
      await ended(theirs);
    }
    const events = await revoked();
    expect(events).toHaveLength(1);
    expect(events[0]?.detail.certificates.map(({ serial }) => serial)).toEqual([one.issued.serial]);
  });

  test('an open connection without a session ends with the revocation of its certificate', async () => {
    const one = await admitted(sandbox.id);
    const master = spawn('ssh', ['-M', '-S', join(folder, 'master'), '-N', ...one.argv], { stdio: 'ignore' });
    const check = ['-S', join(folder, 'master'), '-O', 'check', 'x'];
    const isOpen = () =>
      exec('ssh', check).then(
        () => true,
        () => false,
      );
    await expect.poll(isOpen).toBe(true);
    expect((await call('DELETE', `${path()}/${one.issued.serial}`)).status).toBe(200);
    await ended(master);
  });

  test('certificates are revoked by key id, or all of callers at once; the platform keeps its own', async () => {
    const [one, other, third] = [await admitted(sandbox.id), await admitted(sandbox.id), await admitted(sandbox.id)];
    expect((await call('DELETE', `${path()}/${encodeURIComponent(one.issued.keyId)}`)).status).toBe(200);
    expect(await one.isRefused()).toBe(true);
    expect(await other.run('echo still')).toBe('still\n');

    const answer = await call('DELETE', path());
    expect(answer.status).toBe(200);
    const { items } = await jsonOf<Page<Credential>>(answer);
    expect(items.every(({ revokedAt, refusedAt }) => revokedAt && refusedAt)).toBe(true);
    expect(await other.isRefused()).toBe(true);
    expect(await third.isRefused()).toBe(true);
    const own = (await mayfly().store.certificates.of(sandbox.id)).filter(({ purpose }) => purpose === 'host');
    expect(own.map(({ revokedAt }) => revokedAt)).toEqual([null]);
    await expect(jsonOf(call('DELETE', `${path()}/${own[0]?.serial}`))).resolves.toMatchObject({
      code: 'certificate_not_found',
    });
    expect(await (await admitted(sandbox.id)).run('echo new')).toBe('new\n');
  });

  test('a certificate that expired days ago can be revoked, since its connection may still be open', async () => {
    const { store } = mayfly();
    const caller = await admitted(sandbox.id);
    const [held] = await store.certificates.of(sandbox.id);
    if (!held) throw new Error('it has no certificates');
    const serial = String(await store.serials.next());
    const keyId = held.keyId.replace(/\d+$/, serial);
    const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString();
    await store.certificates.add({ ...held, serial, keyId, validAfter: days(3), validBefore: days(2) });
    const answer = await call('DELETE', `${path()}/${serial}`);
    expect(answer.status).toBe(200);
    expect(await jsonOf<Credential>(answer)).toMatchObject({ serial, refusedAt: expect.any(String) });
    expect((await revoked()).map(({ detail }) => detail.certificates[0]?.serial)).toEqual([serial]);
    expect(await caller.isRefused()).toBe(false);
    expect((await call('DELETE', path())).status).toBe(200);
    expect(await caller.isRefused()).toBe(true);
  });

  test('a request whose first signature timed out is answered when it is repeated', async () => {
    const { publicKey } = makeKeyPair('caller');
    const workflowId = `certificate/${sandbox.id}/late`;
    await mayfly().client.workflow.start('certificate', {
      workflowId,
      taskQueue: 'a queue that nobody works on',
      args: [],
      workflowExecutionTimeout: '1s',
    });
    await expect(mayfly().client.workflow.getHandle(workflowId).result()).rejects.toThrow();
    const request = {
      sandboxId: sandbox.id,
      publicKey,
      purpose: 'caller',
      actor: input.createdBy,
      ttlSeconds: 60,
    } as const;
    expect(await mayfly().sagas.certificates.issue('late', request)).toMatchObject({ serial: expect.any(String) });
  });

  test('two concurrent revocations both hold: no older list replaces a newer one', async () => {
    const callers = [];
    for (let i = 0; i < 4; i++) callers.push(await admitted(sandbox.id));
    const answers = await Promise.all(callers.map(({ issued }) => call('DELETE', `${path()}/${issued.serial}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const caller of callers) expect(await caller.isRefused()).toBe(true);
  });

  test('a host worker is down: the response is 202, and the revocation holds when it returns', async () => {
    const one = await admitted(sandbox.id);
    await mayfly().host?.stop();
    const answer = await call('DELETE', `${path()}/${one.issued.serial}`, undefined, secrets.both, {
      Prefer: 'wait=1',
    });
    expect(answer.status).toBe(202);
    expect(await jsonOf<Credential>(answer)).toMatchObject({ revokedAt: expect.any(String), refusedAt: null });
    await mayfly().startHost();
    await mayfly().sagas.certificates.trusted(sandbox.id, AbortSignal.timeout(60_000));
    expect(await one.isRefused()).toBe(true);
  });

  test('the same Idempotency-Key gets the same certificate, even if the first response was lost', async () => {
    const { publicKey } = makeKeyPair('caller');
    const headers = { 'Idempotency-Key': 'once' };
    const first = await jsonOf(call('POST', path(), { publicKey }, secrets.both, headers));
    const again = await call('POST', path(), { publicKey }, secrets.both, headers);
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await jsonOf(again)).toEqual(first);
    const other = await call('POST', path(), { publicKey, ttlSeconds: 60 }, secrets.both, headers);
    expect(await jsonOf(other)).toMatchObject({ code: 'idempotency_key_reused' });

    const request = {
      sandboxId: sandbox.id,
      publicKey,
      purpose: 'caller',
      actor: input.createdBy,
      ttlSeconds: 60,
    } as const;
    const [one, two] = await Promise.all([
      mayfly().sagas.certificates.issue('lost', request),
      mayfly().sagas.certificates.issue('lost', request),
    ]);
    expect(two).toEqual(one);
    expect(await mayfly().sagas.certificates.issue('lost', request)).toEqual(one);
  });

  test("the platform's own certificate is renewed for its existing key, and for no other", async () => {
    const ask = (publicKey: string) =>
      new ControlTemporalClient(mayfly().client, mayfly().machine().signer).certificates.issue(randomUUID(), {
        sandboxId: sandbox.id,
        publicKey,
        purpose: 'host',
        actor: null,
        ttlSeconds: null,
      });
    const own = await mayfly().host?.machine.credentials.publicKey(sandbox.id);
    const platform = await agentOf(sandbox.id);
    expect((await ask(own ?? '')).keyId).toContain('agent=- key=test ');
    expect(platform.closed).toBe(false);
    await expect(ask(makeKeyPair('stranger').publicKey)).rejects.toMatchObject({ code: 'public_key_refused' });
  });

  const REFUSED_KEYS = [
    ['two lines (caa-008)', `${makeKeyPair('a').publicKey}\n${makeKeyPair('b').publicKey}`],
    ['options', `command="/bin/sh" ${makeKeyPair('a').publicKey}`],
    ['another type (caa-009)', makeKeyPair('a').publicKey.replace('ssh-ed25519', 'ssh-rsa')],
    ['nothing', ''],
    ['a private key', makeKeyPair('a').privateKey],
    ['too much', `${makeKeyPair('a').publicKey} ${'x'.repeat(20_000)}`],
  ] as const;

  test('a value that is not exactly one public key is refused, with a reason and without an echo', async () => {
    for (const [what, publicKey] of REFUSED_KEYS) {
      const answer = await call('POST', path(), { publicKey });
      expect(answer.status, what).toBe(422);
      const text = await answer.text();
      const refusal = { code: 'public_key_refused', errors: [{ field: 'publicKey' }] };
      expect(JSON.parse(text), what).toMatchObject(refusal);
      expect(text, what).not.toContain('AAAA');
    }
  });

  test('caa-026, and other invalid fields, lifetimes and scopes are refused', async () => {
    const { publicKey } = makeKeyPair('caller');
    const bodies = [{ publicKey, privateKeyPath: '/root/.ssh/id_rsa' }, { publicKey, user: 'root' }, {}];
    for (const body of bodies) expect((await call('POST', path(), body)).status).toBe(422);
    for (const ttlSeconds of [59, 3_601, 90.5, '90']) {
      expect((await call('POST', path(), { publicKey, ttlSeconds })).status).toBe(422);
    }
    expect((await call('POST', path(), { publicKey }, secrets['sandboxes:read'])).status).toBe(403);
    expect((await call('DELETE', path(), undefined, secrets['sandboxes:read'])).status).toBe(403);
    expect((await call('GET', path(), undefined, secrets['sandboxes:write'])).status).toBe(403);
    for (const serial of ['1', '99999999999999999999', 'x', '..', '%00']) {
      expect((await call('DELETE', `${path()}/${serial}`)).status, serial).toBe(404);
    }
  });

  test('a destroy revokes all certificates with one event; none opens the next sandbox at that address (caa-016)', async () => {
    const caller = await admitted(sandbox.id);
    await admitted(sandbox.id);
    await mayfly().destroy(input);
    const certificates = await mayfly().store.certificates.of(sandbox.id);
    expect(certificates).toHaveLength(3);
    expect(certificates.every(({ revokedAt }) => revokedAt !== null)).toBe(true);
    const events = await revoked();
    expect(events.map(({ detail }) => detail.certificates.length)).toEqual([3]);
    for (const [method, body] of [
      ['POST', { publicKey: caller.pair.publicKey }],
      ['DELETE', undefined],
    ] as const) {
      expect(await jsonOf(call(method, path(), body))).toMatchObject({ code: 'sandbox_ended' });
    }

    const next = await mayfly().create();
    if (!next.ssh) throw new Error('it has no address');
    const stranger = await SshCaller.with(folder, caller.pair, { ...caller.issued, ...next.ssh, principal: next.id });
    expect(await stranger.isRefused()).toBe(true);
  });
});

test('a sandbox that does not run yet issues no certificate', async () => {
  mayfly().failpoints.arm('awaitIp.before=hang');
  const creating = mayfly().input();
  await mayfly().sagas.sandboxes.create(creating);
  const { publicKey } = makeKeyPair('caller');
  const headers = { 'Idempotency-Key': 'too early' };
  const answer = await call('POST', `/v1/sandboxes/${creating.id}/credentials`, { publicKey }, secrets.both, headers);
  expect(await jsonOf(answer)).toMatchObject({ code: 'sandbox_not_running', retryable: true });
});

function agentOf(id: string) {
  const { host } = mayfly();
  if (!host) throw new Error('there is no host');
  return host.guests.guests.agent(id, { signal: AbortSignal.timeout(120_000), alive: () => {} });
}
