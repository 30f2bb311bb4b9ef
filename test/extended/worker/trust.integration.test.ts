import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { type NativeConnection, Worker } from '@temporalio/worker';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { ControlActivities } from '../../../activities/control.ts';
import { RequestKey } from '../../../ca/signed-request.ts';
import { makeKeyPair } from '../../../host/ssh/key-pair.ts';
import { deriveInstallationId } from '../../../model/ids.ts';
import { RECORD_EVENT, RECORD_EVENTS_WORKFLOW, recordEventsWorkflowId } from '../../../model/sagas/messages.ts';
import { CONTROL_QUEUE } from '../../../model/sagas/queues.ts';
import type { AuditEvent } from '../../../model/sandbox/audit.ts';
import { CERTIFICATE_WORKFLOW, type CertificateInput } from '../../../model/sandbox/certificate-saga.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import {
  MAX_REQUEST_AGE_MS,
  type RequestSignature,
  type RequestSigner,
  type SignedEvent,
} from '../../../model/sandbox/signed-request.ts';
import { ControlTemporalClient } from '../../../temporal/reconciliation.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';
import { useMayfly } from '../../support/use-mayfly.ts';

/**
 * Compromised processes: scripts with the access of a host worker (Temporal, its own request key) or of the API. The
 * sandbox is on the host `test`; the other host is the attacker's.
 */
const mayfly = useMayfly();
const OTHER = 'other';
const caller = { apiKeyId: 'test', agentId: null, project: 'default' };
const folder = useFolder();
let other: { key: RequestKey; signer: RequestSigner };
let sandbox: SandboxRecord;

beforeEach(async () => {
  sandbox = await mayfly().create();
});
beforeAll(async () => {
  const key = await RequestKey.open(folder);
  other = { key, signer: signerOf(key, OTHER, deriveInstallationId(key.publicKey)) };
});

const signerOf = (key: RequestKey, hostId: string, installationId: string) =>
  key.signer({ process: 'host', hostId, installationId });
const api = () => mayfly().requestKey.signer({ process: 'api' });
const own = () => mayfly().machine().signer;

function certificateInput(changes: Partial<CertificateInput> = {}): CertificateInput {
  const { publicKey } = makeKeyPair('attacker');
  return { sandboxId: sandbox.id, publicKey, purpose: 'host', actor: null, ttlSeconds: null, ...changes };
}

/** Starts the workflow with any signature, as any client of Temporal can. */
async function ask(
  input: CertificateInput,
  signature: RequestSignature | undefined,
  workflowId = `certificate/${input.sandboxId}/${randomUUID()}`,
): Promise<unknown> {
  const args = [{ ...input, ...(signature && { signature }) }];
  return mayfly().client.workflow.execute(CERTIFICATE_WORKFLOW, { workflowId, taskQueue: CONTROL_QUEUE, args });
}

/** Returns the request that a client signs. */
function asked({ sandboxId, publicKey, purpose, actor, ttlSeconds }: CertificateInput, workflowId: string) {
  return { workflowId, sandboxId, publicKey, purpose, actor, ttlSeconds };
}

/** Asserts that an attack creates no certificate and no audit entry. */
async function nothingComesOf(attack: () => Promise<unknown>): Promise<void> {
  const state = async () => ({
    certificates: (await mayfly().store.certificates.of(sandbox.id)).map(({ serial }) => serial),
    entries: (await mayfly().store.audit.entries(sandbox.id, { limit: 1_000 })).map(({ body }) => body),
  });
  const before = await state();
  await attack();
  expect(await state()).toEqual(before);
}

const REFUSED = { refused: { code: 'request_refused' } };

test('a compromised host worker gets certificates for its own sandboxes only', async () => {
  const hostKey = await mayfly().machine().credentials.publicKey(sandbox.id);
  const { hostId, installationId } = mayfly().machine().observer;
  const input = certificateInput({ publicKey: hostKey ?? '' });
  const workflowId = `certificate/${sandbox.id}/${randomUUID()}`;
  const right = asked(input, workflowId);
  const attacks: Record<string, RequestSignature | undefined> = {
    'nobody has signed it': undefined,
    'by a host that the sandbox is not on': other.signer.sign('certificate', right),
    'in the name of the host': signerOf(other.key, hostId, installationId).sign('certificate', right),
    'in the name of the host id, with an installation of its own': signerOf(
      other.key,
      hostId,
      deriveInstallationId(other.key.publicKey),
    ).sign('certificate', right),
    'in the name of the API': other.key.signer({ process: 'api' }).sign('certificate', right),
    'for another public key': own().sign('certificate', { ...right, publicKey: makeKeyPair('x').publicKey }),
    'for another sandbox': own().sign('certificate', { ...right, sandboxId: 'sbx-00000000000000ff' }),
    'for another workflow': own().sign('certificate', { ...right, workflowId: `${workflowId}x` }),
    'for a longer life': own().sign('certificate', { ...right, ttlSeconds: 3_600 }),
    'for a caller': own().sign('certificate', { ...right, purpose: 'caller', actor: caller }),
    'with another public key named': { ...own().sign('certificate', right), publicKey: other.key.publicKey },
    'as of another time': { ...own().sign('certificate', right), at: new Date(Date.now() + 1_000).toISOString() },
    'with text where a host is named': {
      ...own().sign('certificate', right),
      by: { process: 'host', hostId: '../x\n', installationId },
    },
  };
  await nothingComesOf(async () => {
    for (const [name, signature] of Object.entries(attacks)) {
      expect({ name, answer: await ask(input, signature, workflowId) }).toMatchObject({ name, answer: REFUSED });
    }
  });
  const callers = certificateInput({
    purpose: 'caller',
    actor: { apiKeyId: 'admin', agentId: null, project: 'default' },
  });
  const callersId = `certificate/${sandbox.id}/${randomUUID()}`;
  await nothingComesOf(async () => {
    for (const signer of [other.signer, own()]) {
      expect(await ask(callers, signer.sign('certificate', asked(callers, callersId)), callersId)).toMatchObject(
        REFUSED,
      );
    }
  });
});

test('an old request is refused, and so is a granted one in another run', async () => {
  const input = certificateInput({ publicKey: (await mayfly().machine().credentials.publicKey(sandbox.id)) ?? '' });
  const workflowId = `certificate/${sandbox.id}/${randomUUID()}`;
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - MAX_REQUEST_AGE_MS - 1_000 });
  const old = own().sign('certificate', asked(input, workflowId));
  vi.useRealTimers();
  expect(await ask(input, old, workflowId)).toMatchObject(REFUSED);
  const signature = own().sign('certificate', asked(input, workflowId));
  expect(await ask(input, signature, workflowId)).toMatchObject({ serial: expect.any(String) });
  await nothingComesOf(async () => {
    expect(await ask(input, signature, workflowId)).toMatchObject(REFUSED);
  });
});

test('a foreign workflow gets nothing signed, recorded or changed by activities of the control worker', async () => {
  const { connection } = mayfly().client;
  const worker = await Worker.create({
    connection: connection as NativeConnection,
    dataConverter: mayfly().dataConverter,
    taskQueue: 'rogue',
    workflowsPath: fileURLToPath(new URL('../../worker/rogue-workflow.ts', import.meta.url)),
  });
  const hostKey = (await mayfly().machine().credentials.publicKey(sandbox.id)) ?? '';
  const event: AuditEvent = { ...access('/x'), actor: { apiKeyId: 'admin', agentId: null, project: 'default' } };
  const inputs: Partial<Record<keyof ControlActivities, unknown>> = {
    signCertificate: { sandboxId: sandbox.id, source: 'x', actor: caller, publicKey: hostKey },
    rememberEvent: { sandboxId: sandbox.id, event },
    remember: { sandboxId: sandbox.id, changes: { state: 'failed' }, event },
    recordFound: { record: sandbox, event },
    rewriteRecord: { record: { ...sandbox, state: 'failed' }, event },
    revokeCertificates: { sandboxId: sandbox.id, serials: 'every', actor: event.actor, at: event.at, eventId: 'x' },
  };
  const { client } = mayfly();
  await worker.runUntil(() =>
    nothingComesOf(async () => {
      for (const [activity, input] of Object.entries(inputs)) {
        const args = [activity, CONTROL_QUEUE, input];
        const run = client.workflow.execute('rogue', { workflowId: randomUUID(), taskQueue: 'rogue', args });
        expect({ activity, code: await run.then(() => null, rootCodeOf) }).toEqual({
          activity,
          code: 'request_refused',
        });
      }
    }),
  );
  expect(await mayfly().record(sandbox.id)).toEqual(sandbox);
});

function rootCodeOf(error: unknown): string | null | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ApplicationFailure) return at.type;
  }
  return null;
}

test("the API gets no certificate of the platform's own", async () => {
  const input = certificateInput({ publicKey: (await mayfly().machine().credentials.publicKey(sandbox.id)) ?? '' });
  const workflowId = `certificate/${sandbox.id}/${randomUUID()}`;
  await nothingComesOf(async () => {
    expect(await ask(input, api().sign('certificate', asked(input, workflowId)), workflowId)).toMatchObject(REFUSED);
  });
});

test('an entitled process gets one: the host for its sandbox, the API for a caller', async () => {
  const { credentials } = mayfly().machine();
  const input = certificateInput({ publicKey: (await credentials.publicKey(sandbox.id)) ?? '' });
  const issued = await new ControlTemporalClient(mayfly().client, own()).certificates.issue(randomUUID(), input);
  expect((await mayfly().store.certificates.get(issued.serial))?.actor).toEqual(sandbox.createdBy);
  const forCaller = certificateInput({ purpose: 'caller', actor: caller });
  expect(await mayfly().sagas.certificates.issue(randomUUID(), forCaller)).toMatchObject({
    serial: expect.any(String),
  });
});

function access(path: string): AuditEvent {
  const at = new Date().toISOString();
  return { eventId: randomUUID(), kind: 'file.read', actor: caller, runId: null, hostId: 'test', at, detail: { path } };
}

async function tell(event: SignedEvent, sandboxId = sandbox.id): Promise<void> {
  await mayfly().client.workflow.signalWithStart(RECORD_EVENTS_WORKFLOW, {
    workflowId: recordEventsWorkflowId(sandboxId),
    taskQueue: CONTROL_QUEUE,
    args: [{ sandboxId }],
    signal: RECORD_EVENT,
    signalArgs: [event],
  });
}

test('only events signed by the API are recorded, in order', async () => {
  const { id } = sandbox;
  const by = (signer: RequestSigner, event: AuditEvent, sandboxId = id) => ({
    ...event,
    signature: signer.sign('event', { sandboxId, event }),
  });
  const admin: AuditEvent = { ...access('/attack'), actor: { apiKeyId: 'admin', agentId: null, project: 'default' } };
  const good = access('/good');
  const forged = [
    admin,
    by(other.signer, admin),
    by(own(), access('/own')),
    by(other.key.signer({ process: 'api' }), admin),
    by(api(), access('/elsewhere'), 'sbx-00000000000000ff'),
    { ...by(api(), access('/changed')), detail: { path: '/x' } },
    { ...by(api(), access('/changed')), actor: admin.actor },
    by(api(), { ...access('/kind'), kind: 'sandbox.proof' }),
    by(api(), { ...access('/nobody'), actor: null }),
  ];
  for (const event of forged) await tell(event);
  await tell(by(api(), good));
  const events = await eventually(
    async () =>
      (await mayfly().store.audit.entries(id, { limit: 1_000 })).map(({ body }) => JSON.parse(body) as AuditEvent),
    (all): all is AuditEvent[] => all.some(({ eventId }) => eventId === good.eventId),
  );
  const ids = new Set(events.map(({ eventId }) => eventId));
  expect(forged.filter(({ eventId }) => ids.has(eventId))).toEqual([]);
  expect(events.find(({ eventId }) => eventId === good.eventId)).not.toHaveProperty('signature');
});
