import type { ApiKey } from '../model/access/api-key.ts';
import { MayflyError } from '../model/errors.ts';
import type { FunctionVersion } from '../model/functions/function.ts';
import type { RunRecord } from '../model/functions/run.ts';
import type { SetupWish } from '../model/functions/setup/setup.ts';
import type { HostRecord, KnownHost } from '../model/host.ts';
import { LIMITS } from '../model/limits.ts';
import { type PoolRecord, shareOf } from '../model/pools/pool.ts';
import { isShared } from '../model/pools/pool-saga.ts';
import { mayUseSource, NO_PROJECT, ownerOfSource, type Project } from '../model/project.ts';
import { type Counted, shortageOf } from '../model/project-limits.ts';
import type { Actor, SandboxRecord } from '../model/sandbox/sandbox.ts';
import type { CaptureRecord } from '../model/snapshots/capture.ts';
import type { StoredPart } from '../model/snapshots/storage.ts';
import { PRESENT_TEMPLATE_STATES } from '../model/templates/template.ts';
import type { Store } from './connect.ts';
import type { HookChanges } from './functions/hooks.ts';
import { hasOpenRuns, removeFunction, removeVersion } from './functions/queue/function-removal.ts';
import { eventOfRun } from './functions/run-event.ts';
import type { RunQuery } from './functions/runs.ts';
import { ensureSetup } from './functions/setup/ensured-setup.ts';
import type { SandboxPage, SandboxQuery } from './sandboxes/sandboxes.ts';
import { cursorOf, type PageQuery } from './sealed/page-cursor.ts';
import type { Unreadable } from './sealed/sealed-fields.ts';
import type { CapturePage } from './snapshots/captures.ts';
import type { SnapshotQuery } from './snapshots/snapshots.ts';
import { storedParts } from './stored-parts.ts';

/** Whose eyes: those of a key's project, or of an operator, who sees all projects. */
interface Viewer {
  project: string;
  isOperator: boolean;
}

type Ref = { project: string; name: string };

interface CaptureQuery {
  source: string;
  limit: number;
  cursor?: string | undefined;
}

/**
 * The store as one project sees it: what belongs to another is answered as what never was. All that is asked for by a
 * caller goes through here; only what operators alone may do has the store itself. Each noun is made when it is asked for: a request needs few.
 */
export function storeOf(store: Store, { project, isOperator }: Viewer) {
  const isOwn = (record: { project: string }) => isOperator || record.project === project;
  const own = <T extends { project: string }>(record: T | null) => (record && isOwn(record) ? record : null);
  /** The keys of operators are the installation's. */
  const ownKey = (key: ApiKey | null) => (isOperator || !key?.scopes.includes('operator') ? own(key) : null);
  const { sandboxes, snapshots, captures, hosts, sources, bakedSources, apiKeys } = store;

  /** Whether a source may be used, and is known to be there at all. */
  async function sight(): Promise<(name: string) => boolean> {
    if (isOperator) return () => true;
    const [known, own] = await Promise.all([store.projects.known(), self()]);
    return (name) => mayUseSource(own, name, (id) => known.has(id));
  }

  /** @throws MayflyError project_not_found when it was deleted since its key was looked at */
  async function self(): Promise<Project> {
    const found = (await store.projects.known()).get(project);
    if (found) return found;
    throw new MayflyError('project_not_found', `There is no project ${project}.`);
  }

  /** Methods of things that have names in their projects, of this project. */
  const named = <Name extends string, T extends Record<Name, (ref: Ref, ...rest: never[]) => unknown>>(
    of: T,
    ...names: Name[]
  ) => {
    const method =
      (name: Name) =>
      (own: string, ...rest: never[]) =>
        of[name]({ project, name: own }, ...rest);
    return Object.fromEntries(names.map((name) => [name, method(name)])) as unknown as {
      [N in Name]: (name: string, ...rest: Rest<T[N]>) => ReturnType<T[N]>;
    };
  };

  const mayClone = ({ projects }: { projects: string[] }) => isOperator || projects.includes(project);
  /** Read by the id of a sandbox, or of a command of one: whoever has the sandbox has it. */
  const { commands, commandInputs, output, audit, certificates, activity, exposedPorts } = store;
  const { idempotency, mcpSessions, mcpEvents } = store;
  return {
    commands,
    commandInputs,
    output,
    audit,
    certificates,
    activity,
    exposedPorts,
    idempotency,
    mcpSessions,
    mcpEvents,
    viewer: { project, isOperator },
    get policies() {
      return bound(store.policies, 'current', 'add');
    },
    get approvals() {
      return {
        ...bound(store.approvals, 'create', 'list', 'changedSince', 'isAmong', 'change', 'remove'),
        get: async (id: string) => own(await store.approvals.get(id)),
        /** The key of who decided, whoever may see it otherwise. */
        decider: (id: string) => store.apiKeys.get(id),
        /** Sandboxes of a project that have not ended, as quotas count them. */
        sandboxesOf: async (of: string) => (await store.admissions.useOf(of)).sandboxes,
      };
    },
    get sandboxes() {
      return {
        create: (record: SandboxRecord) => sandboxes.create(record),
        get: async (id: string) => own(await sandboxes.get(id)),
        /** The one of this project, or of another that is named by who may see it. */
        named: async (name: string, of = project) => (isOperator || of === project ? sandboxes.named(name, of) : null),
        list: (query: SandboxQuery): Promise<SandboxPage> => {
          if (isOperator) return sandboxes.list(query);
          if (query.project !== undefined && query.project !== project) {
            return Promise.resolve({ items: [], nextCursor: null });
          }
          return sandboxes.list({ ...query, project });
        },
      };
    },
    get snapshots() {
      return {
        get: async (id: string) => own(await snapshots.get(id)),
        /** @param query.sandboxId of a sandbox that the viewer sees; without it those of all of them */
        list: (query: SnapshotQuery) =>
          snapshots.list(query.sandboxId !== undefined || isOperator ? query : { ...query, project }),
      };
    },
    get pools() {
      return {
        get: async (of: Pick<PoolRecord, 'project' | 'name'>) => own(await store.pools.get(of)),
        list: async () => (await store.pools.all()).filter(isOwn),
        /** Of the project whose key asks, then shared ones of sources that it may use, as they were a moment ago. */
        known: async () => {
          const [all, sees] = await Promise.all([store.pools.known(), sight()]);
          const shared = all.filter((pool) => isShared(pool) && sees(pool.source));
          return [...all.filter((pool) => pool.project === project), ...shared];
        },
        members: (of: Pick<PoolRecord, 'project' | 'name'>) => store.poolMembers.of(of),
        /** That can be claimed. @param of the project whose key asks, or shared ones */
        warm: (of: 'own' | 'shared') => store.poolMembers.warm(of === 'own' ? project : NO_PROJECT),
        /** Whether the project whose key asks may have more of a shared one. */
        isShareLeft: (pool: PoolRecord) => store.poolShares.isLeft(shareOf(pool, project)),
        /** Whether all projects may use a source. */
        mayShare: async (source: string) => {
          const known = await store.projects.known();
          return ownerOfSource(source, (id) => known.has(id)) === null;
        },
        /** Of the project whose key asks, that nobody has claimed. */
        unclaimed: () => store.poolMembers.unclaimed(project),
      };
    },
    get captures() {
      return {
        /** Also one of another project that lets this one clone it. */
        get: async (id: string) => {
          const record = await captures.get(id);
          return record && (isOwn(record) || mayClone(record)) ? record : null;
        },
        /** As far as they may be cloned, or are its own. */
        list: (query: CaptureQuery) => listed(captures, query, (record) => isOwn(record) || mayClone(record)),
        ready: async (source: string) => (await captures.ready(source)).filter(mayClone),
      };
    },
    get hosts() {
      return {
        /** With the sources that may be used, and no others. */
        list: async (): Promise<KnownHost[]> => {
          const [all, sees] = await Promise.all([hosts.list(), sight()]);
          return isOperator ? all : all.map((host) => seen(host, sees));
        },
      };
    },
    get sources() {
      return {
        get: (id: string) => sources.get(id),
        named: async (name: string) => ((await sight())(name) ? sources.named(name) : []),
      };
    },
    get templates() {
      return {
        get: async (id: string) => own(await store.templates.get(id)),
        /** Those that are not gone, the newest first. */
        present: async () => (await store.templates.all(PRESENT_TEMPLATE_STATES)).filter(isOwn),
      };
    },
    get images() {
      return {
        ...bound(store.images, 'create'),
        remove: async (id: string) => void (own(await store.images.get(id)) && (await store.images.remove(id))),
        get: async (id: string) => own(await store.images.get(id)),
        /** Of the project whose key asks, also of operators. */
        list: (query: Omit<PageQuery, 'project'>) => store.images.list({ project, ...query }),
        /** The last that made a source of that name of that snapshot. */
        ready: (name: string, snapshotId: string) => store.images.ready(project, name, snapshotId),
      };
    },
    /** Of the project whose key asks. */
    get sentContexts() {
      return {
        ...bound(store.sentContexts, 'put', 'complete'),
        bytes: () => store.sentContexts.bytesOf(project),
        begin: (digest: string) => store.sentContexts.begin(project, digest),
        use: (digest: string) => store.sentContexts.use(project, digest),
        remove: (id: string) => store.sentContexts.remove(id),
        /** Of one that {@link use} has found. */
        read: store.sentContexts.read.bind(store.sentContexts),
      };
    },
    get imageContexts() {
      return bound(store.imageContexts, 'keep', 'remove');
    },
    get playbooks() {
      return {
        ...bound(store.playbooks, 'create'),
        get: async (id: string) => own(await store.playbooks.get(id)),
        /** Of the project whose key asks, also of operators. */
        list: (query: Omit<PageQuery, 'project'>) => store.playbooks.list({ project, ...query }),
      };
    },
    /** Of a playbook that was found to be the caller's. */
    get playbookParts() {
      return bound(store.playbookParts, 'get');
    },
    get functions() {
      return {
        ...bound(store.functions, 'create'),
        ...named(store.functions, 'get', 'change'),
        list: () => store.functions.list(project),
        remove: (name: string) => removeFunction(store, { project, name }),
      };
    },
    get functionVersions() {
      return {
        ...bound(store.functionVersions, 'create'),
        ...named(store.functionVersions, 'get', 'list'),
        remove: (version: FunctionVersion) => removeVersion(store, version),
      };
    },
    get functionSetups() {
      return {
        get: (key: string) => store.functionSetups.get({ project, key }),
        ensure: (createdBy: Actor, wish: SetupWish) => ensureSetup(store, { ...createdBy, project }, wish, true),
      };
    },
    get functionFiles() {
      return { put: (digest: string, bytes: Uint8Array) => store.functionFiles.put(project, digest, bytes) };
    },
    get hooks() {
      return {
        ...bound(store.hooks, 'create'),
        get: async (id: string) => own(await store.hooks.get(id)),
        ...named(store.hooks, 'list'),
        change: async (id: string, changes: HookChanges) =>
          own(await store.hooks.get(id)) !== null && store.hooks.change(id, changes),
        remove: (id: string) => store.hooks.remove(id, isOperator ? {} : { project }),
      };
    },
    get webhookEndpoints() {
      return {
        ...bound(store.webhookEndpoints, 'create'),
        get: async (id: string) => own(await store.webhookEndpoints.get(id)),
        /** Of the project whose key asks, also of operators. */
        list: (unreadable?: Unreadable[]) => store.webhookEndpoints.list(project, unreadable),
        /** Of one that was found to be the caller's. */
        change: store.webhookEndpoints.change.bind(store.webhookEndpoints),
        /** With what was sent to it. */
        remove: async (id: string) => {
          if (!(await store.webhookEndpoints.remove(id, isOperator ? {} : { project }))) return false;
          await store.webhookDeliveries.removeOf(id);
          return true;
        },
      };
    },
    /** Of an endpoint that was found to be the caller's. */
    get webhookDeliveries() {
      return {
        ...bound(store.webhookDeliveries, 'list', 'again', 'recover'),
        get: async (id: string) => own(await store.webhookDeliveries.get(id)),
      };
    },
    get schedules() {
      return {
        ...bound(store.schedules, 'create'),
        ...named(store.schedules, 'get', 'change', 'delete', 'ask'),
        list: (unreadable?: Unreadable[]) => store.schedules.list(project, unreadable),
        times: named(store.scheduleTimes, 'list').list,
      };
    },
    get bulks() {
      return {
        ...bound(store.bulks, 'create', 'cancel'),
        get: async (id: string) => own(await store.bulks.get(id)),
        /** That are not over. */
        openOf: async (name: string) =>
          (await store.bulks.open()).filter((each) => each.project === project && each.function === name).length,
      };
    },
    get runs() {
      return {
        ...bound(store.runs, 'accept', 'redriven', 'wishCancel', 'cancelTold', 'end'),
        get: async (id: string) => own(await store.runs.get(id)),
        /** Of one that was found to be the caller's; null: it is not there any more. */
        event: (run: RunRecord) => eventOfRun(store, run),
        /** Of the project whose key asks, also of operators. */
        list: (query: Omit<RunQuery, 'project'>) => store.runs.list({ project, ...query }),
        /** What of the project waits. */
        waiting: () => store.runQueue.waiting(project),
        /** Of one key of a function, up to what may be. */
        countOfKey: (name: string, lane: string) =>
          store.runQueue.countOfKey({ project, name }, lane, LIMITS.functions.queuedOfKey),
        /** Whether one of a function has not ended, or something of it may be left. */
        areOpen: (name: string) => hasOpenRuns(store, { project, name }),
      };
    },
    get gatheredRuns() {
      return bound(store.gatheredRuns, 'wakeIfFull');
    },
    /** Of a run that was found to be the caller's. */
    get receipts() {
      return bound(store.receipts, 'get');
    },
    get runContents() {
      return bound(store.runContents, 'put', 'get', 'read');
    },
    /** Of a run that was found to be the caller's. */
    get waitingRuns() {
      return bound(store.waitingRuns, 'wake');
    },
    get waitpoints() {
      return bound(store.waitpoints, 'ensure', 'list', 'addToken');
    },
    get secrets() {
      return {
        ...bound(store.secrets, 'replace'),
        /** `get`: also one that is deleted. */
        ...named(store.secrets, 'get'),
        list: () => store.secrets.list(project),
      };
    },
    get secretValues() {
      return named(store.secretValues, 'create', 'remove');
    },
    get secretUses() {
      return named(store.secretUses, 'list');
    },
    get imageLayers() {
      return bound(store.imageLayers, 'get');
    },
    get bakedSources() {
      return {
        get: async (id: string) => own(await bakedSources.get(id)),
        named: async (name: string) => (await bakedSources.named(name)).filter(isOwn),
      };
    },
    get apiKeys() {
      return {
        ...bound(apiKeys, 'create', 'ensure'),
        get: async (id: string) => ownKey(await apiKeys.get(id)),
        list: async () => (await apiKeys.list()).filter(ownKey),
        limit: async (id: string, quota: Parameters<typeof apiKeys.limit>[1]) =>
          ownKey(await apiKeys.get(id)) && apiKeys.limit(id, quota),
        revokeUnlessLast: async (id: string) => ownKey(await apiKeys.get(id)) && apiKeys.revokeUnlessLast(id),
      };
    },
    /** Of the project whose key asks, also of operators. */
    get admissions() {
      return {
        admit: async (...wish: Rest<typeof store.admissions.admit>) => store.admissions.admit(await self(), ...wish),
        /** What has to end before these can be admitted; null: that would not help. */
        shortage: async (wanted: readonly Counted[]) => {
          const { id, limits } = await self();
          return shortageOf(limits, await store.admissions.useOf(id), wanted);
        },
        release: async (sandboxIds: readonly string[]) => store.admissions.release(await self(), sandboxIds),
      };
    },
    /** How many event streams it may have open; whether no other project is there to want some. */
    streamShare: async () => ({
      limit: (await self()).limits.streams,
      isAlone: (await store.projects.known()).size === 1,
    }),
    /** Whether it has a limit of bytes, which is looked at where it is placed. */
    isDiskLimited: async () => (await self()).limits.diskBytes !== null,
    /** Bytes; null: none. */
    diskLimit: async () => (await self()).limits.diskBytes,
    /** Whether there is such a project, for those who may know. */
    hasProject: async (id: string) => id === project || (isOperator && (await store.projects.get(id)) !== null),
    storedParts: async (): Promise<StoredPart[]> => (await storedParts(store)).filter(isOwn),
  };
}

/** What a function is given after its first. */
type Rest<F extends (...given: never[]) => unknown> = Parameters<F> extends [unknown, ...infer R] ? R : never;

export type ProjectStore = ReturnType<typeof storeOf>;

/** Methods of a repository, by their names, and no others. */
function bound<T extends object, Name extends keyof T>(of: T, ...names: Name[]): Pick<T, Name> {
  const method = (name: Name) => [name, (of[name] as (...given: unknown[]) => unknown).bind(of)] as const;
  return Object.fromEntries(names.map(method)) as Pick<T, Name>;
}

/** A page of those that may be seen. Its cursor says nothing of the others. */
async function listed(
  captures: Store['captures'],
  { cursor, ...query }: CaptureQuery,
  sees: (record: CaptureRecord) => boolean,
): Promise<CapturePage> {
  const found: CaptureRecord[] = [];
  for (let from: string | null | undefined = cursor; from !== null && found.length <= query.limit; ) {
    const page: CapturePage = await captures.list({ ...query, ...(from !== undefined && { cursor: from }) });
    found.push(...page.items.filter(sees));
    from = page.nextCursor;
  }
  const items = found.slice(0, query.limit);
  const last = items.at(-1);
  const isMore = found.length > query.limit && last;
  return { items, nextCursor: isMore ? cursorOf({ at: last.createdAt, id: last.id }) : null };
}

function seen<H extends HostRecord>(host: H, sees: (name: string) => boolean): H {
  return { ...host, sources: host.sources.filter(({ name }) => sees(name)) };
}
