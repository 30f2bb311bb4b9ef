import { chmod, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import mongoose from 'mongoose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { UserCa } from '../../../ca/user-ca.ts';
import { ExecError } from '../../../host/os/exec.ts';
import type { StateDir } from '../../../host/state-dir.ts';
import { CONTROL_QUEUE, hostQueue, sandboxWorkflowId } from '../../../model/sagas/queues.ts';
import { connectStore, type Store } from '../../../store/connect.ts';
import { Closers } from '../../../worker/config/closers.ts';
import { auditKey } from '../../../worker/config/secret-file.ts';
import { judgeGolden } from '../../../worker/doctor/built.ts';
import { type Check, runProbes } from '../../../worker/doctor/check.ts';
import { judgeDaemons, judgeFirewall, judgeNetwork, judgeVersions } from '../../../worker/doctor/libvirt.ts';
import { judgeStore } from '../../../worker/doctor/store.ts';
import { payloadKeys } from '../../../worker/payloads/payload-keys.ts';
import { host } from '../../api/support.ts';
import { runLine } from '../../cli/run-line.ts';
import { temporaryState } from '../../host/temporary-state.ts';
import { record, sandboxId } from '../../store/support.ts';
import { eventually } from '../../support/eventually.ts';
import { INSTALLATION } from '../../support/installation-id.ts';
import { listen } from '../../support/listen.ts';
import { payloadKeyIn } from '../../support/payload-key.ts';
import { type StoreServer, startStoreServer } from '../../support/store-server.ts';

/**
 * Promise: `mayfly doctor` finds each common fault, and prints the command that fixes it. Each is seeded in a real
 * store, a real Temporal and a real state folder, one at a time; libvirt is simulated. About half a second each.
 */

let server: StoreServer;
let database: string;
let closers: Closers;
let state: StateDir;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  server = await startStoreServer();
});
afterAll(() => server?.stop());
let nth = 0;
beforeEach(async () => {
  closers = new Closers();
  const temporary = await temporaryState();
  state = temporary.state;
  closers.add('state folder', temporary.remove);
  const url = new URL(server.uri);
  url.pathname = `${url.pathname}-${nth++}`;
  database = url.href;
  env = {
    MAYFLY_HOST: 'simulated',
    MAYFLY_HOST_ID: `sick-${nth}`,
    MAYFLY_STATE_DIR: state.root,
    MAYFLY_API_PORT: '0',
    MONGODB_URI: database,
    TEMPORAL_ADDRESS: '',
    ...(await payloadKeyIn(state.root)),
  };
});
afterEach(() => closers.close());

async function doctor(more: NodeJS.ProcessEnv = {}): Promise<{ code: unknown; checks: Check[]; residue?: unknown }> {
  const options = { env: { ...process.env, ...env, ...more } };
  const { code, out } = await runLine({ url: '' }, ['doctor', '--json'], options);
  return { code, ...(JSON.parse(out) as { checks: Check[] }) };
}

const withStore = async <T>(use: (store: Store) => Promise<T>, auditKey?: Uint8Array) => {
  const keys = await payloadKeys(join(state.root, 'payload.key'));
  const store = await connectStore(database, { keys, isProcess: true, ...(auditKey && { auditKey }) });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
};

async function updateRaw(collection: string, filter: object, $set: object): Promise<void> {
  const connection = await mongoose.createConnection(database).asPromise();
  await connection.collection(collection).updateMany(filter, { $set });
  await connection.close();
}

const temporal = () => ({ TEMPORAL_ADDRESS: inject('temporalAddress') });
const LONG_AGO = new Date(Date.now() - 3_600_000).toISOString();

async function temporalService(): Promise<Connection> {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  closers.add('connection', () => connection.close());
  return connection;
}

/** Registers a namespace without search attributes. */
async function bareNamespace(): Promise<string> {
  const { workflowService } = await temporalService();
  const namespace = `bare-${process.pid}-${nth}`;
  await workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 } as never,
  });
  return namespace;
}

/** Polls a task queue, as a worker of that name does. */
async function polls(name: string, identity: string, kind: 'workflow' | 'activity'): Promise<void> {
  const connection = await temporalService();
  const { workflowService } = connection;
  const request = { namespace: 'default', taskQueue: { name }, identity };
  const gone = new AbortController();
  const poll = async () => {
    if (kind === 'workflow') await workflowService.pollWorkflowTaskQueue(request);
    else await workflowService.pollActivityTaskQueue(request);
  };
  const polling = connection.withAbortSignal(gone.signal, () => connection.withDeadline(Date.now() + 60_000, poll));
  polling.catch(() => {}); // aborted below
  closers.add('poll', async () => gone.abort());
  const taskQueueType = kind === 'workflow' ? 1 : 2;
  await eventually(
    () => workflowService.describeTaskQueue({ namespace: 'default', taskQueue: { name }, taskQueueType }),
    ({ pollers }) => (pollers ?? []).some((poller) => poller.identity === identity),
  );
}

/** Seeds a fault. @returns environment for the doctor that looks at it */
type Seed = () => Promise<NodeJS.ProcessEnv>;

/** Seeds the store alone. */
function seedStore(seed: (store: Store) => Promise<unknown>, more: () => NodeJS.ProcessEnv = () => ({})): Seed {
  return async () => {
    await withStore(seed);
    return more();
  };
}

const FAULTS: [fault: string, check: string, found: RegExp, remedy: RegExp, seed: Seed][] = [
  [
    'Temporal does not answer',
    'Temporal',
    /ECONNREFUSED/,
    /TEMPORAL_ADDRESS/,
    async () => ({ TEMPORAL_ADDRESS: '127.0.0.1:1' }),
  ],
  [
    'the namespace is missing',
    'Temporal namespace',
    /no namespace "nowhere"/,
    /temporal operator namespace create --namespace nowhere/,
    async () => ({ ...temporal(), TEMPORAL_NAMESPACE: 'nowhere' }),
  ],
  [
    'search attributes are missing',
    'search attributes',
    /missing: SandboxHost, SandboxSource/,
    /temporal operator search-attribute create .*--name SandboxHost --type Keyword/,
    async () => ({ ...temporal(), TEMPORAL_NAMESPACE: await bareNamespace() }),
  ],
  [
    'no control worker polls',
    'control worker',
    /nobody takes workflow and activity tasks from mayfly-control/,
    /systemctl restart mayfly-control/,
    async () => ({ ...temporal(), TEMPORAL_NAMESPACE: await bareNamespace() }),
  ],
  [
    'a host describes itself, and takes no work',
    'host worker',
    /nobody takes activity tasks from host-deaf/,
    /systemctl restart mayfly-host/,
    seedStore((store) => store.hosts.describe(host('deaf')), temporal),
  ],
  [
    'two machines have one host id',
    'host id twin',
    /2 workers serve it: (one, other|other, one)/,
    /MAYFLY_HOST_ID of its own/,
    async () => {
      await withStore((store) => store.hosts.describe(host('twin')));
      await polls(hostQueue({ hostId: 'twin', installationId: INSTALLATION }), '7@one', 'activity');
      await polls(hostQueue({ hostId: 'twin', installationId: INSTALLATION }), '7@other', 'activity');
      return temporal();
    },
  ],
  [
    'the store does not answer',
    'store',
    /ECONNREFUSED/,
    /MONGODB_URI/,
    async () => ({ MONGODB_URI: 'mongodb://127.0.0.1:1/x' }),
  ],
  [
    'another version has laid the store out',
    'store layout',
    /another version/,
    /upgrade|Run that version/,
    async () => {
      await withStore(() => Promise.resolve());
      await updateRaw('layout', { _id: 'layout' }, { layout: 'of another version' });
      return {};
    },
  ],
  [
    'a host worker is not heard of',
    'host silent',
    /last heard of at .*sandboxes on it: 3/,
    /systemctl start mayfly-host/,
    seedStore(({ hosts }) => {
      const promised = { memoryMib: 1, diskBytes: 1, sandboxes: 3 };
      return hosts.describe(host('silent', { lastSeenAt: LONG_AGO, promised }));
    }),
  ],
  [
    "a host's clock is wrong",
    'clocks',
    /the host ahead is 3\d\d\d\.\d s ahead/,
    /timedatectl set-ntp true/,
    seedStore(({ hosts }) => {
      const lastSeenAt = new Date(Date.now() + 3_600_000).toISOString();
      return hosts.describe(host('ahead', { lastSeenAt }));
    }),
  ],
  [
    'a saga waits for long',
    `saga of ${sandboxId(1)}`,
    /destroying and has waited since .*: removeDomain on host kvm-1/,
    /mayfly audit show/,
    seedStore(({ sandboxes }) => {
      const waitingFor = 'removeDomain on host kvm-1';
      return sandboxes.create(record(1, { state: 'destroying', waitingFor, updatedAt: LONG_AGO }));
    }),
  ],
  [
    'a sandbox lives without a workflow',
    `run of ${sandboxId(2)}`,
    /its record says running, but its workflow is not there/,
    /mayfly sandbox destroy sbx-/,
    seedStore(({ sandboxes }) => sandboxes.create(record(2, { state: 'running' })), temporal),
  ],
  [
    'a workflow task fails again and again',
    `run of ${sandboxId(3)}`,
    /its workflow task fails/,
    /version that ran before/,
    async () => {
      await withStore((store) => store.sandboxes.create(record(3, { state: 'running' })));
      const connection = await temporalService();
      const { workflowService } = connection;
      const taskQueue = { name: `failing-${process.pid}` };
      const workflowId = sandboxWorkflowId(sandboxId(3));
      const ids = { namespace: 'default', workflowId, requestId: workflowId };
      await workflowService.startWorkflowExecution({ ...ids, workflowType: { name: 'sandbox' }, taskQueue });
      closers.add('failing workflow', async () => {
        const workflowExecution = { workflowId };
        await workflowService.terminateWorkflowExecution({ namespace: 'default', workflowExecution });
      });
      for (let attempt = 1; attempt < 3; attempt++) {
        const { taskToken } = await connection.withDeadline(Date.now() + 60_000, () =>
          workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue }),
        );
        const failure = { message: 'nondeterminism' };
        await workflowService.respondWorkflowTaskFailed({ namespace: 'default', taskToken, cause: 24, failure });
      }
      return temporal();
    },
  ],
  [
    'the audit trail was changed',
    `audit of ${sandboxId(4)}`,
    /entry 0 edited/,
    /mayfly audit verify sbx-/,
    async () => {
      const key = await auditKey(join(state.root, 'control', 'audit.key'));
      await UserCa.open(join(state.root, 'control', 'ca'));
      await withStore(async (store) => {
        await store.sandboxes.create(record(4, { state: 'destroyed' }));
        const event = {
          eventId: 'a/1',
          runId: 'a',
          at: LONG_AGO,
          kind: 'sandbox.requested',
          actor: null,
          hostId: null,
        };
        await store.audit.append(sandboxId(4), { ...event, kind: 'sandbox.requested', detail: {} });
      }, key);
      await updateRaw('audit', { sandboxId: sandboxId(4) }, { body: '{}' });
      return {};
    },
  ],
  [
    'others may write the state folder',
    'state folder',
    /mode 0777/,
    /chmod 0711 \//,
    async () => {
      await chmod(state.root, 0o777);
      return {};
    },
  ],
  [
    'the audit key is missing',
    'audit key',
    /is missing/,
    /install -m 600 BACKUP\/audit.key/,
    async () => {
      await UserCa.open(join(state.root, 'control', 'ca'));
      return {};
    },
  ],
  [
    'others may read the payload key',
    'payload key',
    /may be read by others/,
    /install -m 600 BACKUP\/payload.key/,
    async () => {
      await auditKey(join(state.root, 'control', 'audit.key'));
      await chmod(join(state.root, 'payload.key'), 0o644);
      return {};
    },
  ],
  [
    'others may read the audit key',
    'audit key',
    /may be read by others/,
    /chmod 600/,
    async () => {
      const path = join(state.root, 'control', 'audit.key');
      await auditKey(path);
      await chmod(path, 0o644);
      return {};
    },
  ],
  [
    'others may read the CA key',
    'CA key',
    /has mode 0644/,
    /chmod 600/,
    async () => {
      await UserCa.open(join(state.root, 'control', 'ca'));
      await chmod(join(state.root, 'control', 'ca', 'user_ca'), 0o644);
      return {};
    },
  ],
  [
    'a rotation of the CA was forgotten',
    'CA rotation',
    /begun since/,
    /mayfly ca rotate --finish/,
    async () => {
      const folder = join(state.root, 'control', 'ca');
      await UserCa.open(folder);
      const { beginRotation } = await import('../../../ca/rotation.ts');
      await beginRotation(folder);
      const twoDays = new Date(Date.now() - 48 * 3_600_000);
      await utimes(join(folder, 'user_ca_next.pub'), twoDays, twoDays);
      return {};
    },
  ],
  [
    "the API's port is taken",
    'API',
    /is not Mayfly: the port is taken/,
    /ss -ltnp/,
    async () => {
      const other = createServer((_request, response) => response.end('something else'));
      closers.add('another server', async () => void other.close());
      return { MAYFLY_API_PORT: String(await listen(other)) };
    },
  ],
  [
    'a program is missing',
    'ssh-keygen',
    /not on PATH/,
    /apt-get install openssh-client/,
    async () => ({ PATH: '/nowhere' }),
  ],
  [
    'libvirtd does not answer',
    'libvirtd answers',
    /Failed to connect/,
    /MAYFLY_LIBVIRT_URI/,
    async () => ({ MAYFLY_HOST: 'libvirt', MAYFLY_LIBVIRT_URI: `qemu+unix:///system?socket=${state.root}/none` }),
  ],
  [
    'MAYFLY_HOST is of another kind than its worker',
    'installation',
    /MAYFLY_HOST is simulated/,
    /MAYFLY_HOST=libvirt mayfly doctor/,
    seedStore(({ hosts }) => hosts.describe(host(env['MAYFLY_HOST_ID'] ?? '', { kind: 'libvirt' }))),
  ],
  [
    'the programs for guests are not built',
    'guest programs',
    /not built/,
    /npm run setup/,
    async () => {
      const before = process.env['XDG_CACHE_HOME'];
      process.env['XDG_CACHE_HOME'] = state.root;
      closers.add('cache', async () => {
        if (before === undefined) delete process.env['XDG_CACHE_HOME'];
        else process.env['XDG_CACHE_HOME'] = before;
      });
      return {};
    },
  ],
];

it.each(FAULTS)('finds that %s', async (_fault, name, found, remedy, seed) => {
  const { code, checks } = await doctor(await seed());
  const said = checks.filter((check) => check.name === name);
  expect(said, JSON.stringify(checks, null, 1)).toContainEqual({
    name,
    ok: false,
    optional: false,
    found: expect.stringMatching(found),
    remedy: expect.stringMatching(remedy),
  });
  expect(code).toBe(1);
});

it('finds residue without a record', async () => {
  await withStore(() => Promise.resolve());
  await mkdir(state.workspace(sandboxId(9)), { recursive: true });
  await writeFile(join(state.workspace(sandboxId(9)), 'disk'), 'x');
  const { code, residue } = await doctor();
  expect(residue).toMatchObject([{ sandboxId: sandboxId(9), observation: { layer: 'workspace' } }]);
  expect(code).toBe(1);
});

it('reports no fault in a healthy installation', async () => {
  await withStore((store) => store.hosts.describe(host('well', { lastSeenAt: new Date().toISOString() })));
  await auditKey(join(state.root, 'control', 'audit.key'));
  await UserCa.open(join(state.root, 'control', 'ca'));
  await polls(CONTROL_QUEUE, '1@here', 'workflow');
  await polls(CONTROL_QUEUE, '1@here', 'activity');
  await polls(hostQueue({ hostId: 'well', installationId: INSTALLATION }), '1@here', 'activity');
  const { code, checks } = await doctor(temporal());
  expect(checks.filter(({ ok, optional }) => !ok && !optional)).toEqual([]);
  expect(code).toBe(0);
});

it('a probe that fails or hangs is reported as a fault', async () => {
  const remedy = 'mend it';
  const checks = await runProbes(
    [
      { name: 'fails', remedy, look: () => Promise.reject(new Error('no way there')) },
      { name: 'hangs', remedy, look: () => new Promise(() => {}) },
    ],
    10,
  );
  expect(checks.map(({ ok, optional, found }) => [ok, optional, found])).toEqual([
    [false, false, 'could not look: no way there'],
    [false, false, 'could not look: no answer within 0.01 s'],
  ]);
});

describe('as libvirt, nft and a store report', () => {
  const telling = (answers: Record<string, string>) => async (program: string, args: readonly string[]) => {
    const line = [program, ...args].join(' ');
    const [, answer] = Object.entries(answers).find(([part]) => line.includes(part)) ?? [];
    if (answer === undefined) throw new ExecError(program, args, 1, `no answer for ${line}`, '', null);
    return answer;
  };
  const network = (answers: Record<string, string>) =>
    judgeNetwork(telling(answers), 'qemu:///system', { name: 'mayfly', bridge: 'mayfly0', isServed: true });
  const up = {
    'net-list --all': 'default\nmayfly\n',
    'net-list --name': 'mayfly\n',
    'ip -4': '3: mayfly0    inet 10.213.0.1/20 brd',
  };
  const store = { layout: 'this', sealedWith: '00112233aabbccdd', readOnly: null, answersInMs: 2, aheadMs: 3 } as const;
  const both = { own: 'qemu+unix:///system?socket=x', system: true, chosen: undefined };

  const CASES: [fault: string, look: () => Check[] | Promise<Check[]>, name: string, remedy: RegExp][] = [
    [
      'the network is missing',
      () => network({ ...up, 'net-list --all': 'default\n' }),
      'network mayfly',
      /restart mayfly-host/,
    ],
    [
      'the network is not active',
      () => network({ ...up, 'net-list --name': '' }),
      'network mayfly',
      /net-start mayfly/,
    ],
    ['the bridge has no address', () => network({ ...up, 'ip -4': '' }), 'network mayfly', /net-destroy mayfly/],
    [
      'the firewall is not whole',
      () => judgeFirewall(['bridge mayfly_mayfly0']),
      'firewall',
      /loads it again.*restart mayfly-host/,
    ],
    ['two libvirtds run', () => judgeDaemons(both), 'libvirtd', /MAYFLY_LIBVIRT_URI=private/],
    [
      'virsh is too old',
      () => judgeVersions(telling({ virsh: '8.0.0\n', 'qemu-img': 'qemu-img version 8.1.2' })),
      'virsh version',
      /Debian 12/,
    ],
    [
      'the store takes no writes',
      () => judgeStore({ ...store, readOnly: 'not authorized' }),
      'store is fit',
      /readWrite/,
    ],
    ['the store is slow', () => judgeStore({ ...store, answersInMs: 900 }), 'store is quick', /iostat/],
    ["the store's clock is wrong", () => judgeStore({ ...store, aheadMs: -60_000 }), 'clocks', /timedatectl/],
  ];
  it.each(CASES)('finds that %s', async (_fault, look, name, remedy) => {
    const faults = (await look()).filter(({ ok, optional }) => !ok && !optional);
    expect(faults.map((check) => check.name)).toEqual([name]);
    expect(faults[0]?.remedy).toMatch(remedy);
  });

  it('reports that the store is not encrypted', () => {
    const said = judgeStore({ ...store, sealedWith: null }).filter(({ ok }) => !ok);
    expect(said).toMatchObject([{ name: 'store encryption', remedy: expect.stringMatching(/serve control/) }]);
  });

  it('reports no fault in a healthy host and store', async () => {
    const told = await Promise.all([
      network(up),
      judgeVersions(telling({ virsh: '9.0.0', 'qemu-img': 'qemu-img version 7.2.17 (Debian)' })),
    ]);
    const checks = [
      ...told.flat(),
      ...judgeFirewall([]),
      ...judgeStore(store),
      ...judgeDaemons({ ...both, system: false }),
    ];
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  it('finds that the golden image was changed', async () => {
    const images = await mkdtemp(join(tmpdir(), 'mayfly-images-'));
    closers.add('images', () => rm(images, { recursive: true, force: true }));
    const digest = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'; // of `x`
    await mkdir(join(images, digest));
    const disk = join(images, digest, 'disk.qcow2');
    await writeFile(disk, 'x');
    expect(await judgeGolden(images, digest)).toMatchObject([{ ok: true }]);
    await writeFile(disk, 'y');
    expect(await judgeGolden(images, digest)).toMatchObject([{ ok: false, remedy: expect.stringMatching(/rm -r/) }]);
  });
});
