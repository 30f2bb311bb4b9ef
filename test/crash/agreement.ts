import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import mongoose from 'mongoose';
import { census, residueIn } from './census/census.ts';
import type { CensusPlace, Finding, FindingKind } from './census/finding.ts';

/** Resources that every sandbox with a machine has. */
const OF_EACH: readonly FindingKind[] = ['workspace', 'credentials', 'reservation'];
const WITH_MACHINE: ReadonlySet<string> = new Set(['running', 'warm', 'paused', 'hibernated']);
const UNDER_WAY = {
  sandboxes: ['requested', 'creating', 'restoring', 'destroying'],
  snapshots: ['creating', 'deleting'],
  captures: ['creating', 'deleting'],
  bakedSources: ['baking', 'deleting'],
  commands: ['requested', 'running'],
  images: ['queued', 'building', 'finishing'],
  runs: ['delayed', 'queued', 'preparing', 'running', 'collecting'],
  functionSetups: ['preparing', 'removing'],
  bulks: ['running', 'cancelling'],
  webhookDeliveries: ['pending'],
} as const;
/** Workflows that stay open while idle, and those of the reconciler's schedule. */
const IDLE_RUN = /^(?:events\/|pool\/|reconcil|temporal-sys)/;
const LOOK_EVERY_MS = 100;

interface Stored {
  _id: string;
  state: string;
  keptFor?: string | null;
  hostId?: string | null;
}

/** Checks an installation independently of its code: through the store's driver, Temporal's client, and the machine. */
export class Agreement {
  private constructor(
    private readonly store: mongoose.Connection,
    private readonly connection: Connection,
    private readonly places: readonly CensusPlace[],
    private readonly own: readonly string[],
  ) {}

  /** @param places of each host, with its current libvirt @param own ids that the harness itself keeps */
  static async open(
    at: { storeUri: string; temporalAddress: string },
    places: readonly CensusPlace[],
    own: readonly string[] = [],
  ): Promise<Agreement> {
    const store = await mongoose.createConnection(at.storeUri, { serverSelectionTimeoutMS: 10_000 }).asPromise();
    const connection = await Connection.connect({ address: at.temporalAddress });
    return new Agreement(store, connection, places, own);
  }

  /**
   * Lists disagreements of host, store and Temporal, and unfinished work. @param wanted `nothing`: no sandbox may be
   * alive
   */
  async disagreements(wanted: 'nothing' | 'what is alive'): Promise<string[]> {
    const [findings, sandboxes, snapshots, captures, schedules, unfinished, open] = await Promise.all([
      census(this.places),
      this.#documents('sandboxes', {}),
      this.#documents('snapshots', { $or: [{ state: 'ready' }, { keptFor: { $nin: [null] } }] }),
      this.#documents('captures', { state: 'ready' }),
      this.#documents('schedules', {}),
      this.#unfinished(),
      this.#openRuns(),
    ]);
    const alive = sandboxes.filter(({ state }) => state !== 'destroyed' && state !== 'failed');
    // `keptFor` of a deleted snapshot is stale once its last user has ended.
    const isKept = ({ state }: Stored) => state === 'ready' || wanted === 'what is alive';
    const kept = [...snapshots, ...captures].filter(isKept).map(({ _id }) => _id);
    const isOwn = (id: string) => this.own.includes(id);
    const left = wanted === 'nothing' ? [...alive.map(({ _id }) => _id), ...kept].filter((id) => !isOwn(id)) : [];
    const owned = new Set([
      ...alive.map(({ _id }) => `sandbox/${_id}`),
      ...schedules.map(({ _id }) => `schedule/${_id}`),
    ]);
    return [
      ...unfinished,
      ...left.map((id) => `store: ${id} is still there`),
      ...residueIn(findings, new Set([...alive.map(({ _id }) => _id), ...kept])).map((line) => `host: ${line}`),
      ...alive.flatMap((record) => missingOf(record, findings)),
      ...(await this.#runsMissing(alive)),
      ...open.filter((id) => !IDLE_RUN.test(id) && !owned.has(id)).map((id) => `Temporal: ${id} is open, and nobody's`),
    ];
  }

  /**
   * Polls until all agree; services may still be restarting. @throws Error that lists the disagreements after the
   * timeout
   */
  async holds(wanted: 'nothing' | 'what is alive', withinMs: number): Promise<void> {
    for (const deadline = Date.now() + withinMs; ; await sleep(LOOK_EVERY_MS)) {
      const lines = await this.disagreements(wanted).catch((error: unknown) => [`the look failed: ${String(error)}`]);
      if (lines.length === 0) return;
      if (Date.now() > deadline) throw new Error(`no agreement after ${withinMs / 1_000} s:\n${lines.join('\n')}`);
    }
  }

  /** Describes each open workflow for debugging: its pending work, and its last events. */
  async describeOpenRuns(): Promise<string> {
    const { workflow } = new Client({ connection: this.connection });
    const lines = (await this.#openRuns()).map(async (id) => {
      const handle = workflow.getHandle(id);
      const [{ raw }, { events }] = await Promise.all([handle.describe(), handle.fetchHistory()]);
      const task = raw.pendingWorkflowTask;
      const waiting = [
        ...(task ? [`workflow task, attempt ${task.attempt}, state ${task.state}`] : []),
        ...(raw.pendingActivities ?? []).map(
          ({ activityType, attempt, state, lastFailure }) =>
            `${activityType?.name}, attempt ${attempt}, state ${state}: ${lastFailure?.message ?? 'no failure yet'}`,
        ),
      ];
      const last = (events ?? []).slice(-8).map(({ eventType }) => String(eventType));
      return `${id}: ${waiting.join('; ') || 'nothing pending'}; its last events are ${last.join(', ')}`;
    });
    return ['== open runs', ...(await Promise.all(lines)), ...(await this.#unfinished())].join('\n');
  }

  /** Counts the ended sandboxes in the store. */
  endedSandboxes(): Promise<number> {
    return this.store.collection('endedSandboxes').countDocuments();
  }

  async close(): Promise<void> {
    await Promise.all([this.store.close(), this.connection.close()]);
  }

  #documents(collection: string, filter: object): Promise<Stored[]> {
    return this.store
      .collection<Stored>(collection)
      .find(filter, { projection: { state: 1, keptFor: 1, hostId: 1 } })
      .toArray();
  }

  async #unfinished(): Promise<string[]> {
    const found = Object.entries(UNDER_WAY).map(async ([collection, states]) => {
      const documents = await this.#documents(collection, { state: { $in: [...states] } });
      return documents.map(({ _id, state }) => `store: ${_id} is ${state}`);
    });
    return (await Promise.all(found)).flat();
  }

  async #openRuns(): Promise<string[]> {
    const ids: string[] = [];
    const { workflow } = new Client({ connection: this.connection });
    for await (const { workflowId } of workflow.list({ query: 'ExecutionStatus="Running"' })) ids.push(workflowId);
    return ids;
  }

  /** Returns missing workflows, each queried by id: the list may be stale. */
  async #runsMissing(alive: readonly Stored[]): Promise<string[]> {
    const { workflow } = new Client({ connection: this.connection });
    const looks = alive.map(async ({ _id, state }) => {
      const status = await workflow
        .getHandle(`sandbox/${_id}`)
        .describe()
        .then(({ status: { name } }) => name)
        .catch((error: unknown) => {
          if (error instanceof WorkflowNotFoundError) return 'unknown';
          throw error;
        });
      return status === 'RUNNING' ? [] : [`Temporal: sandbox/${_id} is ${status}, and the store says ${state}`];
    });
    return (await Promise.all(looks)).flat();
  }
}

function missingOf({ _id, state }: Stored, findings: readonly Finding[]): string[] {
  if (!WITH_MACHINE.has(state)) return [];
  const kinds = new Set(findings.filter(({ id }) => id === _id).map(({ kind }) => kind));
  const missing = OF_EACH.filter((kind) => !kinds.has(kind)).map(
    (kind) => `host: ${_id} is ${state}, and has no ${kind}`,
  );
  const runs = kinds.has('process');
  if (state === 'hibernated' && runs) return [...missing, `host: ${_id} is hibernated, and has a process`];
  if (state !== 'hibernated' && !runs) return [...missing, `host: ${_id} is ${state}, and has no process`];
  return missing;
}
