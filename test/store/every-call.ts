import { approvalRecord as approvalModel } from '../../model/approvals/approval.ts';
import type { ExposedPort } from '../../model/ports/exposed-port.ts';
import { NO_LIMITS } from '../../model/project-limits.ts';
import { SANDBOX_STATES } from '../../model/sandbox/sandbox-state.ts';
import type { SecretRecord } from '../../model/secrets/secret.ts';
import { newBakeRecord } from '../../model/snapshots/bake-saga.ts';
import { getWaiting } from '../../model/waitpoints/waiting.ts';
import { newWaitpoint } from '../../model/waitpoints/waitpoint.ts';
import { newDelivery } from '../../model/webhooks/delivery.ts';
import type { Store } from '../../store/connect.ts';
import { hostRecord } from '../support/host-record.ts';
import { INSTALLATION } from '../support/installation-id.ts';
import { approvalRecord, poolRecord, templateRecord } from './project-records.ts';
import { bulkRecord, functionRecord, functionVersion, runId, runRecord, setupRecord } from './run-records.ts';
import { scheduleRecord } from './schedule-records.ts';
import {
  auditEvent,
  captureRecord,
  certificateRecord,
  command,
  commandId,
  imageRecord,
  playbookRecord,
  record,
  sandboxId,
  snapshot,
  snapshotId,
} from './support.ts';
import { endedEvent, endpointRecord, hookRecord } from './webhook-records.ts';

type Parts = Omit<Store, 'ping' | 'close' | 'scanRecords'>;
/** Calls of every method; a new method without a call does not compile. */
type Calls = { [Part in keyof Parts]: { [Method in keyof Parts[Part]]: () => Promise<unknown> } };

const at = '2026-01-01T00:00:00.000Z';
const actor = { apiKeyId: '0123456789ab', agentId: null, project: 'default' };
const schedule = { project: 'default', name: 'nightly' };
const ask = {
  id: 'a',
  kind: 'trigger',
  at,
  from: null,
  to: null,
  overlap: 'skip',
} as const;
const scheduleTime = {
  project: 'default',
  schedule: 'nightly',
  at,
  localTime: at,
  triggerId: null,
  state: 'missed',
  reason: 'overlap',
  detail: null,
  runId: null,
  recordedAt: at,
} as const;
const sourceId = 'src-0000000000000001';
const capture = captureRecord();
const certificate = certificateRecord('7');
const baked = newBakeRecord({
  bakeId: 'b',
  sourceId,
  hostId: 'kvm-1',
  installationId: INSTALLATION,
  name: 'baked',
  builderId: sandboxId(2),
  snapshot: { id: snapshotId(1), sandboxId: sandboxId(1), source: 'golden' },
  actor,
  requestedAt: at,
});
const template = templateRecord();
const limits = { ...NO_LIMITS, sandboxes: 2 };
const limited = { id: 'second', sources: null, limits, createdAt: at, deletedAt: null };
const counted = { sandboxId: sandboxId(4), cpus: 1, memoryMib: 64 };
const host = hostRecord('kvm-1');
const secret: SecretRecord = {
  project: 'default',
  name: 'token',
  version: 1,
  valueId: 'v',
  notMasked: null,
  versions: [],
  createdAt: at,
  updatedAt: at,
};
const event = auditEvent({ kind: 'sandbox.state' });
const pool = poolRecord();
const approval = approvalRecord();
const image = imageRecord();
const exposedPort: ExposedPort = {
  sandboxId: sandboxId(1),
  port: 3_000,
  project: 'default',
  visibility: 'token',
  host: 'localhost',
  cors: false,
  wake: false,
  secret: 's',
  openedBy: { ...actor, project: 'default' },
  openedAt: at,
};
const endpoint = endpointRecord();
const delivery = newDelivery(endedEvent(), endpoint, at);
const hook = hookRecord({ filter: { types: ['t'], conditions: [] } });
const envelope = { payloadType: 't', payload: 'e30=', signatures: [{ keyid: 'k', sig: 's' }] };
const playbook = playbookRecord();
const [aFunction, aVersion, aSetup] = [functionRecord(), functionVersion(), setupRecord()];
const slot = { apiKeyId: '0123456789ab', key: 'k', bodyDigest: 'd', subjectId: sandboxId(1) };
const chunk = { bytes: Buffer.from('x'), marks: [] };
const past = { id: sandboxId(2), endedAt: at };
const cursor = Buffer.from(`${at} ${sandboxId(1)}`).toString('base64url');
const cursorOf = (id: string) => Buffer.from(`${at} ${id}`).toString('base64url');

/** Returns the calls in an order in which data exists for each. */
export function callsOf(store: Store): Calls {
  const { sandboxes, snapshots, captures, commands, commandInputs, output, audit, idempotency, apiKeys } = store;
  let keyId = '';
  const { hosts, measuredDisks, serials, signers, sources, bakedSources, certificates, activity, reconciled } = store;
  const {
    exposedPorts,
    mcpSessions,
    mcpEvents,
    policies,
    approvals,
    images,
    imageLayers,
    imageContexts,
    sentContexts,
  } = store;
  const { playbooks, playbookParts, receiptKeys, relays } = store;
  const { secrets, secretValues, secretUses, attemptSecrets } = store;
  const { pastRuns, untoldRuns, webhookEndpoints, webhookDeliveries } = store;
  const { functions, functionVersions, functionFiles, hooks, bulks, runs, runQueue, runContents, receipts } = store;
  const { gatheredRuns, uncheckedRuns, runMembers, functionSetups, waitpoints, waitingRuns } = store;
  const noWaiting = getWaiting({}, sandboxId(1));
  const waitpoint = newWaitpoint(
    { id: runId(1), project: 'default' },
    { name: 'w', timeoutSeconds: 1 },
    null,
    Date.parse(at),
  );
  const { schedules, scheduleTimes } = store;
  const sent = async () => {
    const id = await sentContexts.begin('default', 'b'.repeat(64));
    await sentContexts.put(id, 0, Buffer.from('x'));
    return id;
  };
  const { retention, auditRetention, projects, admissions, templates, pools, poolMembers, poolShares } = store;
  return {
    sandboxes: {
      create: () => Promise.all([1, 2].map((n) => sandboxes.create(record(n)))),
      put: () => sandboxes.put(record(3)),
      get: () => sandboxes.get(sandboxId(9)),
      hostIdOf: () => sandboxes.hostIdOf(sandboxId(9)),
      named: () => sandboxes.named('web', 'default'),
      update: async () => {
        await sandboxes.update(sandboxId(1), { state: 'running' });
        await sandboxes.update(sandboxId(2), { state: 'destroyed' });
        await sandboxes.update(sandboxId(2), { waitingFor: null });
      },
      claim: () => sandboxes.claim(record(3), { name: 'claimed', runningAt: at }),
      list: () =>
        Promise.all([
          sandboxes.list({ limit: 5 }),
          sandboxes.list({ limit: 5, cursor }),
          sandboxes.list({ limit: 5, cursor, state: 'destroyed' }),
          sandboxes.list({ limit: 5, cursor, state: 'running' }),
          sandboxes.list({ limit: 5, project: 'default' }),
          sandboxes.list({ limit: 5, cursor, project: 'default' }),
          sandboxes.list({ limit: 5, cursor, state: 'running', project: 'default' }),
        ]),
      all: () => Promise.all([sandboxes.all(), sandboxes.all(SANDBOX_STATES.slice(0, 3))]),
      countByState: () => sandboxes.countByState(),
    },
    pools: {
      put: () => pools.put(pool),
      get: () => pools.get(pool),
      all: () => pools.all(),
      known: () => pools.known(),
    },
    poolMembers: {
      warm: () => poolMembers.warm('default'),
      of: () => poolMembers.of(pool),
      unclaimed: () => poolMembers.unclaimed(),
      underWay: () => poolMembers.underWay(),
    },
    poolShares: {
      isLeft: () => poolShares.isLeft({ pool, project: 'default', refill: 1, most: 1 }),
      take: () => poolShares.take({ pool, project: 'default', refill: 1, most: 1 }, sandboxId(1)),
      giveBack: () => poolShares.giveBack({ pool, project: 'default' }, sandboxId(1)),
      forget: () => poolShares.forget(pool),
    },
    snapshots: {
      create: () => snapshots.create(snapshot(1)),
      get: () => snapshots.get(snapshotId(1)),
      update: () => snapshots.update(snapshotId(1), { state: 'failed' }),
      list: () =>
        Promise.all([
          snapshots.list({ sandboxId: sandboxId(1), limit: 5 }),
          snapshots.list({ sandboxId: sandboxId(1), limit: 5, cursor: cursorOf(snapshotId(1)) }),
          snapshots.list({ limit: 5 }),
          snapshots.list({ project: 'default', limit: 5, cursor: cursorOf(snapshotId(1)) }),
        ]),
      creating: () => snapshots.creating(sandboxId(1)),
      all: () => snapshots.all(['ready']),
      kept: () => snapshots.kept(),
      past: () => snapshots.past('2999-01-01T00:00:00.000Z', 5),
    },
    captures: {
      all: () => captures.all(['ready']),
      create: () => captures.create(capture),
      get: () => captures.get(capture.id),
      update: () => captures.update(capture.id, { state: 'failed' }),
      list: () =>
        Promise.all([
          captures.list({ source: 'golden', limit: 5 }),
          captures.list({ source: 'golden', limit: 5, cursor: cursorOf(capture.id) }),
        ]),
      ready: () => captures.ready('golden'),
    },
    commands: {
      create: () => commands.create(command(1)),
      get: () => commands.get(commandId(1)),
      update: () => commands.update(commandId(1), { state: 'ended' }),
      list: () =>
        Promise.all([
          commands.list({ sandboxId: sandboxId(1), limit: 5 }),
          commands.list({ sandboxId: sandboxId(1), limit: 5, cursor: cursorOf(commandId(1)) }),
        ]),
      between: () => commands.between({ sandboxId: sandboxId(1), from: at, to: at, limit: 5 }),
    },
    commandInputs: {
      keep: () => commandInputs.keep(commandId(1), { env: {}, stdin: Buffer.alloc(0) }),
      get: () => commandInputs.get(commandId(1)),
      remove: () => commandInputs.remove(commandId(1)),
    },
    output: {
      put: () => output.put(commandId(1), 'stdout', 0, chunk),
      chunk: () => output.chunk(commandId(1), 'stdout', 0),
      read: () => output.read(commandId(1), 'stdout', 0, 1),
      last: () => output.last(commandId(1), 'stdout'),
    },
    audit: {
      append: () => Promise.all([1, 2].map((n) => audit.append(sandboxId(1), { ...event, eventId: `${n}` }))),
      record: () => audit.record(sandboxId(1), { ...event, eventId: '3' }),
      faults: () => audit.faults(),
      appendWaiting: () => audit.appendWaiting(),
      head: () => audit.head(sandboxId(1)),
      entries: () => audit.entries(sandboxId(1), { limit: 5 }),
      verify: () => audit.verify(sandboxId(1)),
      catchUp: () => audit.catchUp(),
      acceptLoss: () => audit.acceptLoss('a test'),
      noteHeads: () => audit.noteHeads(),
      noteKeys: async () => audit.noteKeys(await apiKeys.list()),
      verifyRegister: () => audit.verifyRegister(),
      exported: () => all(audit.exported([sandboxId(1)])),
      sealed: async () => audit.sealed(''),
      verifyAll: async () => audit.verifyAll(new Map(), await audit.verifyRegister()),
    },
    idempotency: {
      claim: async () => {
        await idempotency.claim(slot);
        await idempotency.claim(slot);
      },
      complete: () => idempotency.complete(slot, { status: 200, headers: [], body: '' }),
      setOutcome: () =>
        idempotency.setOutcome(
          slot,
          slot.subjectId,
          { memberId: null, isFinal: false },
          { memberId: null, isFinal: true },
        ),
      getOutcome: () => idempotency.getOutcome(slot),
      release: () => idempotency.release({ ...slot, key: 'other' }),
      prune: () => idempotency.prune(),
    },
    exposedPorts: {
      open: () => exposedPorts.open(exposedPort),
      get: () => exposedPorts.get(exposedPort),
      of: () => exposedPorts.of(sandboxId(1)),
      resign: () => exposedPorts.resign(exposedPort, 'other'),
      close: () => exposedPorts.close(exposedPort),
      closeAll: () => exposedPorts.closeAll(sandboxId(1)),
    },
    policies: {
      add: () => policies.add({ project: 'default', version: 1, rules: [], createdBy: actor, createdAt: at }),
      current: () => policies.current('default'),
    },
    approvals: {
      create: () => approvals.create(approval),
      get: () => approvals.get(approval.id),
      list: () =>
        Promise.all([
          approvals.list({ project: 'default', limit: 5 }),
          approvals.list({ project: 'default', limit: 5, cursor: cursorOf(approval.id) }),
          ...approvalModel.shape.state.options.map((state) => approvals.list({ project: 'default', limit: 5, state })),
        ]),
      changedSince: () => approvals.changedSince('default', at, 5),
      isAmong: () => approvals.isAmong(approval, 100),
      change: () => approvals.change(approval.id, { state: 'awaiting-approval' }, { state: 'approved' }),
      remove: () => approvals.remove(approval.id),
      prune: () => approvals.prune(),
    },
    mcpSessions: {
      open: () => mcpSessions.open({ id: 's', apiKeyId: 'a', project: 'p', opening: {}, usedAt: '2026' }, 1),
      get: () => mcpSessions.get('s'),
      use: () => mcpSessions.use('s', '2027'),
      close: () => mcpSessions.close('s'),
      prune: () => mcpSessions.prune(),
    },
    mcpEvents: {
      append: () => mcpEvents.append([{ sessionId: 's', streamId: 't', place: 0, message: 1, at: '2999' }]),
      get: () => mcpEvents.get('s', 't', 0),
      stay: () => mcpEvents.stay('t', '2999'),
      prune: () => mcpEvents.prune(),
    },
    apiKeys: {
      create: async () => {
        keyId = (await apiKeys.create({ project: 'default', name: 'a', scopes: ['admin'] })).key.id;
      },
      ensure: async () => {
        for (let twice = 0; twice < 2; twice++)
          await apiKeys.ensure('0123456789ab', { project: 'default', name: 'b', scopes: ['admin'] });
      },
      get: () => apiKeys.get('0123456789ab'),
      list: () => apiKeys.list(),
      limited: () => apiKeys.limited(),
      limit: () => apiKeys.limit(keyId, { diskBytes: 1e9 }),
      revokeUnlessLast: () => apiKeys.revokeUnlessLast('0123456789ab'),
      revoke: () => apiKeys.revoke(keyId),
      authenticate: () => apiKeys.authenticate(`mfk_0123456789ab_${'x'.repeat(43)}`),
    },
    projects: {
      create: () => projects.create('second'),
      known: () => projects.known(),
      lately: () => projects.lately('second'),
      get: () => projects.get('second'),
      change: () => projects.change('second', { sources: ['golden'], limits: { cpus: 4 } }),
      markDeleted: () => projects.markDeleted('second', at),
    },
    admissions: {
      admit: () => admissions.admit(limited, [counted], () => Promise.resolve(true)),
      useOf: () => admissions.useOf('second'),
      release: () => admissions.release(limited, [counted.sandboxId]),
    },
    hosts: {
      claim: () => hosts.claim({ ...host, id: 'kvm-2' }),
      leave: () => hosts.leave({ id: 'kvm-2', epoch: 1 }),
      now: () => hosts.now(),
      describe: () => hosts.describe(host),
      order: () => hosts.order('kvm-1', { drainedAt: null }),
      list: () => hosts.list(),
      get: () => hosts.get('kvm-1'),
    },
    relays: {
      announce: () => relays.announce('kvm-1', { url: 'http://x', key: 'k' }),
      get: () => relays.get('kvm-1'),
    },
    measuredDisks: {
      describe: () => measuredDisks.describe({ hostId: 'kvm-1', measuredAt: at, sandboxes: [] }),
      list: () => measuredDisks.list(),
    },
    periodicTasks: {
      report: () => store.periodicTasks.report({ name: 'pruning', everyMs: 1_000, endedAt: at, failure: '' }),
      list: () => store.periodicTasks.list(),
    },
    serials: { next: () => serials.next() },
    signers: {
      addApi: () => signers.addApi('k'),
      isApi: () => signers.isApi('k'),
    },
    sources: {
      change: () =>
        sources.change(
          { id: sourceId, hostId: 'kvm-1', installationId: INSTALLATION, name: 'golden' },
          { updatedAt: at },
        ),
      get: () => sources.get(sourceId),
      named: () => sources.named('golden'),
      prepared: () => sources.prepared(),
      in: () => sources.in('preparing'),
    },
    templates: {
      put: () => templates.put(template),
      get: () => templates.get(template.id),
      all: () => templates.all(['ready']),
    },
    images: {
      create: () => images.create(image),
      get: () => images.get(image.id),
      list: () => images.list({ project: 'default', limit: 5 }),
      ready: () => images.ready('default', image.name, 'snp-0123456789abcdef'),
      underWay: () => images.underWay(),
      update: () => images.update(image.id, { state: 'failed' }),
      remove: () => images.remove(image.id),
    },
    playbooks: {
      create: () => playbooks.create(playbook),
      get: () => playbooks.get(playbook.id),
      list: () => playbooks.list({ project: 'default', limit: 5 }),
      underWay: () => playbooks.underWay(),
      update: () => playbooks.update(playbook.id, { state: 'failed' }),
    },
    playbookParts: {
      put: () => playbookParts.put(playbook.id, 'report', Buffer.from('x')),
      get: () => playbookParts.get(playbook.id, 'report'),
      writer: () => playbookParts.writer(playbook.id, 'left').end(),
      read: () => playbookParts.read(playbook.id, 'report').next(),
      remove: () => playbookParts.remove(playbook.id, 'left'),
    },
    functions: {
      create: () => functions.create(aFunction),
      get: () => functions.get(aFunction),
      list: () => functions.list('default'),
      draining: () => functions.draining(),
      change: () => functions.change(aFunction, { activeVersion: 1 }, { state: 'active' }),
      remove: () => functions.remove({ project: 'default', name: 'gone' }),
    },
    functionVersions: {
      create: () => functionVersions.create(aVersion),
      get: () => functionVersions.get(aFunction, 1),
      list: () => functionVersions.list(aFunction),
      haveFiles: () => functionVersions.haveFiles('default', 'a'.repeat(64)),
      withSetup: () => functionVersions.withSetup('default', 'a'.repeat(64)),
      remove: () => functionVersions.remove(aFunction, 2),
    },
    functionSetups: {
      create: () => functionSetups.create(aSetup),
      get: () => functionSetups.get(aSetup),
      open: () => functionSetups.open(),
      all: () => functionSetups.all(),
      change: () => functionSetups.change(aSetup, { tries: 1 }),
      remove: () => functionSetups.remove({ ...aSetup, key: 'b'.repeat(64) }),
    },
    functionFiles: {
      put: () => functionFiles.put('default', 'a'.repeat(64), Buffer.from('x')),
      get: () => functionFiles.get('default', 'a'.repeat(64)),
      writer: () => functionFiles.writer('default', 'b'.repeat(64)).end(),
      read: () => functionFiles.read('default', 'a'.repeat(64)).next(),
      remove: () => functionFiles.remove('default', 'b'.repeat(64)),
    },
    runMembers: {
      ask: () => runMembers.ask({ runId: runId(1), tries: 1 }, null, 'sbx-1'),
      sandboxes: () => runMembers.sandboxes(at),
      settle: () => runMembers.settle({ runId: runId(1), tries: 1 }, 'sbx-1', []),
    },
    runs: {
      accept: () => Promise.all([1, 2, 3].map((n) => runs.accept(runRecord(n), Buffer.from('{}')))),
      get: () => runs.get(runId(1)),
      ends: () => runs.ends([runId(1), runId(2)]),
      eventOf: () => runs.eventOf(runId(1)),
      list: () =>
        Promise.all([
          runs.list({ project: 'default', limit: 5 }),
          runs.list({ project: 'default', limit: 5, cursor: cursorOf(runId(1)) }),
          runs.list({ project: 'default', limit: 5, function: 'fn' }),
          runs.list({ project: 'default', limit: 5, state: 'ended' }),
          runs.list({ project: 'default', limit: 5, outcome: 'failed' }),
          runs.list({ project: 'default', limit: 5, keys: ['"a"', '1'], since: at, until: at }),
          runs.list({ project: 'default', limit: 5, deadLetter: true, cursor: cursorOf(runId(1)) }),
        ]),
      admitted: async () => [await runs.admitted(), await runs.admitted({ project: 'default', function: 'fn' })],
      damaged: () => runs.damaged(),
      areOpen: () => runs.areOpen({ project: 'default', function: 'none' }),
      notBegun: () => runs.notBegun(at),
      change: () => runs.change(runId(1), ['queued'], { waitingFor: 'concurrency' }),
      begin: () => runs.begin(runId(1), ['preparing'], { tries: 1 }),
      end: () => runs.end(runId(3), ['queued'], { outcome: 'cancelled', endedAt: at }, 7),
      wishCancel: () => runs.wishCancel(runId(1), { cancelledBy: actor, updatedAt: at }),
      cancelTold: () => runs.cancelTold(runId(1)),
      redriven: () => runs.redriven(runId(3), runId(4)),
      free: () => runs.free(runId(3), { cleanup: 'proved' }),
      requeue: () => runs.requeue(runRecord(1), { waitingFor: 'capacity' }),
      restore: () => runs.restore(runRecord(1), { attempts: [], tries: 1 }),
    },
    runQueue: {
      next: async () => [await runQueue.next(aFunction, ''), await runQueue.next(aFunction, 'a')],
      functions: () => runQueue.functions(),
      due: () => runQueue.due('2999-01-01T00:00:00.000Z', 5),
      enqueue: () => runQueue.enqueue(runRecord(2)),
      admit: () => {
        const throttle = { limit: 1, periodSeconds: 1, burst: 1, key: null, onFull: 'queue' } as const;
        return runQueue.admit(runRecord(2), { concurrency: [{ limit: 2, key: null, onFull: 'queue' }], throttle }, at);
      },
      behind: () => runQueue.behind(runRecord(2), 5),
      holders: () => runQueue.holders(runRecord(2), 0),
      failed: () => runQueue.failed(runId(1)),
      count: () => runQueue.count(aFunction, 5),
      waiting: () => runQueue.waiting('default'),
      countOfKey: () => runQueue.countOfKey({ project: 'default', name: 'fn' }, '"k"', 10),
    },
    waitingRuns: {
      record: () => waitingRuns.record(runId(1), noWaiting, at),
      wake: () => waitingRuns.wake(runId(1)),
      told: () => waitingRuns.told(runId(1), at),
      yieldSlots: () => waitingRuns.yieldSlots(runId(1), at),
      queue: () => waitingRuns.queue(runRecord(1), at),
      readmit: () => waitingRuns.readmit(runRecord(1), { concurrency: [] }, at),
    },
    uncheckedRuns: {
      next: () => uncheckedRuns.next(null),
      fits: () => uncheckedRuns.fits(runRecord(2), at),
    },
    gatheredRuns: {
      group: () => gatheredRuns.group(runRecord(2), 5),
      gather: () => gatheredRuns.gather(runRecord(2)),
      wakeIfFull: () => gatheredRuns.wakeIfFull(runRecord(2), 1),
      postpone: () => gatheredRuns.postpone(runRecord(2), at, at),
      claim: () => gatheredRuns.claim(runId(2), []),
      release: () => gatheredRuns.release(runRecord(2), { events: [], eventBytes: 1 }),
      join: () => gatheredRuns.join(runId(2), runId(1)),
      untold: () => gatheredRuns.untold(5),
      told: () => gatheredRuns.told(runId(2)),
    },
    runContents: {
      put: () => runContents.put(runId(1), 'result', Buffer.from('x')),
      writer: () => runContents.writer(runId(1), 'artifact/0').end(),
      get: () => runContents.get(runId(1), 'result'),
      read: () => runContents.read(runId(1), 'result').next(),
      remove: () => runContents.remove(runId(2)),
    },
    bulks: {
      create: () => bulks.create(bulkRecord(1)),
      get: () => bulks.get(bulkRecord(1).id),
      open: () => bulks.open(),
      begin: () => bulks.begin(bulkRecord(1).id, { pages: 0, runs: [runId(1)], next: null }),
      advance: () =>
        bulks.advance(
          bulkRecord(1),
          { pages: 0, runs: [runId(1)], next: null },
          { counts: { done: 1, unchanged: 0, refused: 0 }, refusals: [] },
          at,
        ),
      cancel: () => bulks.cancel(bulkRecord(1).id, at),
      end: () => bulks.end(bulkRecord(1).id, 'cancelled', at),
      removePast: () => bulks.removePast('2999-01-01T00:00:00.000Z'),
    },
    waitpoints: {
      ensure: () => waitpoints.ensure(waitpoint),
      get: () => waitpoints.get(waitpoint.id),
      list: () => waitpoints.list(waitpoint.runId),
      asked: () => waitpoints.asked(waitpoint.id, at),
      addToken: () => waitpoints.addToken(waitpoint.id, 'a'.repeat(64), null),
      complete: () => waitpoints.complete(waitpoint.id, '1', at, 1),
      unaudited: () => waitpoints.unaudited(10),
      audited: () => waitpoints.audited(waitpoint.id),
      expire: () => waitpoints.expire(waitpoint.id),
      removeOf: () => waitpoints.removeOf(waitpoint.runId),
    },
    receipts: {
      add: () => receipts.add(runId(1), envelope, at),
      get: () => receipts.get(runId(1)),
      remove: () => receipts.remove(runId(2)),
    },
    receiptKeys: {
      add: () => receiptKeys.add({ keyid: 'a'.repeat(64), publicKey: 'pem' }),
      list: () => receiptKeys.list(),
    },
    hooks: {
      create: () => hooks.create(hook),
      get: () => hooks.get(hook.id),
      list: () => hooks.list({ project: 'default', name: hook.function }),
      change: () => hooks.change(hook.id, { secrets: ['new', 'old'] }),
      remove: () => hooks.remove(hook.id),
      removeOf: () => hooks.removeOf({ project: 'default', name: hook.function }),
    },
    secrets: {
      replace: () => secrets.replace(secret, null),
      get: () => secrets.get(secret),
      list: () => secrets.list('default'),
    },
    secretValues: {
      create: () => secretValues.create(secret, 'v', 'x'),
      get: () => secretValues.get(secret, 'v'),
      remove: () => secretValues.remove(secret, 'v'),
    },
    secretUses: {
      add: () => secretUses.add(secret, { version: 1, runId: runId(1), attempt: 1, at }),
      list: () => secretUses.list(secret),
    },
    attemptSecrets: {
      keep: () => attemptSecrets.keep(commandId(1), []),
      get: () => attemptSecrets.get(commandId(1)),
      remove: () => attemptSecrets.remove(commandId(1)),
    },
    pastRuns: {
      unsigned: () => pastRuns.unsigned('', 5),
      signed: () => pastRuns.signed(runId(2)),
      past: () => pastRuns.past('', '2999-01-01T00:00:00.000Z', 5),
      remove: () => pastRuns.remove(runId(3)),
    },
    untoldRuns: {
      get: () => untoldRuns.get(runId(1)),
      due: () => untoldRuns.due('2999', 10),
      told: async () => {
        const untold = await untoldRuns.get(runId(1));
        if (untold) await untoldRuns.told({ ...untold, end: at, cleanup: at });
      },
    },
    webhookEndpoints: {
      create: () => webhookEndpoints.create(endpoint),
      get: () => webhookEndpoints.get(endpoint.id),
      list: () => webhookEndpoints.list('default'),
      change: () => webhookEndpoints.change(endpoint.id, { failingSince: at }, { failingSince: null }),
      disable: () => webhookEndpoints.disable(endpoint.id, 'failures', at),
      untold: () => webhookEndpoints.untold(),
      told: () => webhookEndpoints.told({ ...endpoint, disabledAt: at }),
      remove: () => webhookEndpoints.remove(endpoint.id),
    },
    webhookDeliveries: {
      create: () => webhookDeliveries.create(delivery, at),
      get: () => webhookDeliveries.get(delivery.id),
      list: () =>
        Promise.all([
          webhookDeliveries.list({ endpointId: endpoint.id, limit: 5 }),
          webhookDeliveries.list({ endpointId: endpoint.id, state: 'failed', limit: 5 }),
        ]),
      begin: () => webhookDeliveries.begin(delivery, at, at),
      settle: () => webhookDeliveries.settle(delivery.id, at, { state: 'delivered' }, null),
      giveUp: () => webhookDeliveries.giveUp(endpoint.id, 'endpoint-disabled', at),
      again: () => webhookDeliveries.again(delivery.id, at),
      recover: () => webhookDeliveries.recover(endpoint.id, at, at),
      toWake: () => webhookDeliveries.toWake('2999', 5),
      woken: () => webhookDeliveries.woken({ id: delivery.id, wakeAt: at }, at),
      prune: () => webhookDeliveries.prune(),
      removeOf: () => webhookDeliveries.removeOf(endpoint.id),
    },
    schedules: {
      create: () => schedules.create(scheduleRecord()),
      get: () => schedules.get(schedule),
      list: () => schedules.list('default'),
      due: () => schedules.due(at, 5),
      all: () => schedules.all(),
      change: () => schedules.change(schedule, { pausedAt: at }, { version: 1, pausedAt: null }),
      ask: () => schedules.ask(schedule, ask),
      delete: () => schedules.delete(schedule, at),
      deleteOf: () => schedules.deleteOf({ project: 'default', name: 'fn' }),
      remove: () => schedules.remove(schedule, { deletedAt: null }),
    },
    scheduleTimes: {
      put: () => scheduleTimes.put(scheduleTime, at),
      putMissed: () => scheduleTimes.putMissed([scheduleTime], at),
      list: () =>
        Promise.all([
          scheduleTimes.list(schedule, { limit: 5 }),
          scheduleTimes.list(schedule, { limit: 5, state: 'missed', before: `${at}/2026` }),
        ]),
      untold: () => scheduleTimes.untold(5),
      told: () => scheduleTimes.told(scheduleTime),
      prune: () => scheduleTimes.prune(at),
      removeOf: () => scheduleTimes.removeOf(schedule),
    },
    imageContexts: {
      keep: () => imageContexts.keep(image.id, { archive: Buffer.from('x'), secrets: {} }),
      get: () => imageContexts.get(image.id),
      remove: () => imageContexts.remove(image.id),
    },
    sentContexts: {
      bytesOf: () => sentContexts.bytesOf('default'),
      begin: () => sentContexts.begin('default', 'a'.repeat(64)),
      put: sent,
      complete: async () =>
        sentContexts.complete(await sent(), { bytes: 1, context: { entries: [], dockerignore: '' } }),
      use: () => sentContexts.use('default', 'a'.repeat(64)),
      read: async () => sentContexts.read(await sent(), 0, 1).next(),
      unused: () => sentContexts.unused(new Date(at)),
      remove: () => sentContexts.remove('b'.repeat(32)),
    },
    imageLayers: {
      put: () => imageLayers.put({ id: 'a'.repeat(64), snapshotId: snapshotId(1), createdAt: at }),
      get: () => imageLayers.get('a'.repeat(64)),
    },
    bakedSources: {
      all: () => bakedSources.all(['ready']),
      begin: () => bakedSources.begin(baked),
      get: () => bakedSources.get(sourceId),
      named: () => bakedSources.named('baked'),
      ofSnapshot: () => bakedSources.ofSnapshot(snapshotId(1)),
      update: () => bakedSources.update(sourceId, { readyAt: at }),
    },
    certificates: {
      add: () => certificates.add(certificate),
      get: () => certificates.get('7'),
      of: () => certificates.of(sandboxId(1)),
      ofRequest: () => certificates.ofRequest('f'.repeat(64)),
      revoke: () => certificates.revoke(['7'], at, null),
      refused: () => certificates.refused(['7'], at),
      prune: () => certificates.prune('2025-01-01T00:00:00.000Z'),
    },
    activity: {
      touch: () => activity.touch(sandboxId(1)),
      openCommand: () => activity.openCommand(sandboxId(1), commandId(1)),
      closeCommand: () => activity.closeCommand(sandboxId(1), commandId(1)),
      openCommands: () => activity.openCommands(),
      get: () => activity.get(sandboxId(1)),
    },
    reconciled: {
      add: () => reconciled.add({ id: 'e', outcome: 'lost', subject: sandboxId(1), hostId: null, at }),
      counts: () => reconciled.counts(),
    },
    retention: {
      due: () =>
        Promise.all([
          retention.due({ before: '2027', after: null, limit: 5 }),
          retention.due({ before: '2027', after: past, limit: 5 }),
        ]),
      isNeeded: () => retention.isNeeded(sandboxId(2)),
      documents: () => all(retention.documents(sandboxId(1))),
      remove: () => retention.remove({ ...past, id: sandboxId(1) }),
      count: () => retention.count({ sandboxes: 1 }),
      removed: () => retention.removed(),
    },
    auditRetention: {
      due: () =>
        Promise.all([
          auditRetention.due({ before: '2027', after: null, limit: 5 }),
          auditRetention.due({ before: '2027', after: past, limit: 5 }),
        ]),
      documents: () => all(auditRetention.documents(sandboxId(1))),
      lastAt: () => auditRetention.lastAt(sandboxId(1)),
      remove: () => auditRetention.remove(sandboxId(1)),
    },
  };
}

async function all(documents: AsyncIterable<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const document of documents) found.push(document);
  return found;
}
