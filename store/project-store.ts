import type { ApiKey } from '../model/access/api-key.ts';
import { MayflyError } from '../model/errors.ts';
import type { FunctionVersion } from '../model/functions/function.ts';
import type { RunRecord } from '../model/functions/run.ts';
import type { SetupInputs } from '../model/functions/setup/setup.ts';
import type { HostRecord, StoredHost } from '../model/host.ts';
import { LIMITS } from '../model/limits.ts';
import { getShare, type PoolRecord } from '../model/pools/pool.ts';
import { isShared } from '../model/pools/pool-saga.ts';
import { canUseSource, getSourceOwner, NO_PROJECT, type Project } from '../model/project.ts';
import { type Counted, getShortage } from '../model/project-limits.ts';
import type { Actor, SandboxRecord } from '../model/sandbox/sandbox.ts';
import type { CaptureRecord } from '../model/snapshots/capture.ts';
import type { StorageUsage } from '../model/snapshots/storage.ts';
import { PRESENT_TEMPLATE_STATES } from '../model/templates/template.ts';
import type { Store } from './connect.ts';
import type { HookChanges } from './functions/hooks.ts';
import { hasOpenRuns, removeFunction, removeVersion } from './functions/queue/function-removal.ts';
import { eventOfRun } from './functions/run-event.ts';
import type { RunQuery } from './functions/runs.ts';
import { ensureSetup } from './functions/setup/ensured-setup.ts';
import type { SandboxPage, SandboxQuery } from './sandboxes/sandboxes.ts';
import { type PageQuery, toCursor } from './sealed/page-cursor.ts';
import type { Unreadable } from './sealed/sealed-fields.ts';
import type { CapturePage } from './snapshots/captures.ts';
import type { SnapshotQuery } from './snapshots/snapshots.ts';
import { listStorageUse } from './stored-parts.ts';

/** Principal that reads: a key's project, or an operator, who sees all projects. */
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
 * Returns a view of the store for one project, in which records of others are absent. All requests read through it;
 * only operator routes use the store directly. Getters bind on access, since a request needs few.
 */
export function createProjectStore(store: Store, { project, isOperator }: Viewer) {
  const isOwn = (record: { project: string }) => isOperator || record.project === project;
  const own = <T extends { project: string }>(record: T | null) => (record && isOwn(record) ? record : null);
  /** Hides operator keys from other principals. */
  const ownKey = (key: ApiKey | null) => (isOperator || !key?.scopes.includes('operator') ? own(key) : null);
  const { sandboxes, snapshots, captures, hosts, sources, bakedSources, apiKeys } = store;

  /** Returns a filter of the source names that the viewer may use. */
  async function getSourceFilter(): Promise<(name: string) => boolean> {
    if (isOperator) return () => true;
    const [known, own] = await Promise.all([store.projects.known(), getProject()]);
    return (name) => canUseSource(own, name, (id) => known.has(id));
  }

  /** @throws MayflyError project_not_found when it was deleted after its key was verified */
  async function getProject(): Promise<Project> {
    const found = (await store.projects.known()).get(project);
    if (found) return found;
    throw new MayflyError('project_not_found', `There is no project ${project}.`);
  }

  /** Binds methods that take a project and a name to this project. */
  const bindToProject = <Name extends string, T extends Record<Name, (ref: Ref, ...rest: never[]) => unknown>>(
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
  /** Unchecked here: they are read by the id of a sandbox, or of its command, that was already checked. */
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
      return pickMethods(store.policies, 'current', 'add');
    },
    get approvals() {
      return {
        ...pickMethods(store.approvals, 'create', 'list', 'changedSince', 'isAmong', 'change', 'remove'),
        get: async (id: string) => own(await store.approvals.get(id)),
        /** Returns the key that decided, even when the viewer may not see it. */
        decider: (id: string) => store.apiKeys.get(id),
        /** Returns the number of living sandboxes of a project, as quotas count them. */
        sandboxesOf: async (of: string) => (await store.admissions.useOf(of)).sandboxes,
      };
    },
    get sandboxes() {
      return {
        create: (record: SandboxRecord) => sandboxes.create(record),
        get: async (id: string) => own(await sandboxes.get(id)),
        /** Returns the sandbox of this project; for an operator, of any project. */
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
        /** @param query.sandboxId id of a sandbox that the viewer may see. `@default` all that it may see */
        list: (query: SnapshotQuery) =>
          snapshots.list(query.sandboxId !== undefined || isOperator ? query : { ...query, project }),
      };
    },
    get pools() {
      return {
        get: async (of: Pick<PoolRecord, 'project' | 'name'>) => own(await store.pools.get(of)),
        list: async () => (await store.pools.all()).filter(isOwn),
        /** Returns cached pools: the project's own, then shared ones whose source it may use. */
        known: async () => {
          const [all, sees] = await Promise.all([store.pools.known(), getSourceFilter()]);
          const shared = all.filter((pool) => isShared(pool) && sees(pool.source));
          return [...all.filter((pool) => pool.project === project), ...shared];
        },
        members: (of: Pick<PoolRecord, 'project' | 'name'>) => store.poolMembers.of(of),
        /** Returns claimable members. @param of `own`: pools of the project */
        warm: (of: 'own' | 'shared') => store.poolMembers.warm(of === 'own' ? project : NO_PROJECT),
        /** Reports whether the project may claim another member of a shared pool. */
        isShareLeft: (pool: PoolRecord) => store.poolShares.isLeft(getShare(pool, project)),
        /** Reports whether all projects may use a source. */
        mayShare: async (source: string) => {
          const known = await store.projects.known();
          return getSourceOwner(source, (id) => known.has(id)) === null;
        },
        /** Returns the unclaimed members of the project's pools. */
        unclaimed: () => store.poolMembers.unclaimed(project),
      };
    },
    get captures() {
      return {
        /** Returns a capture of the project, or of another that lets this one clone it. */
        get: async (id: string) => {
          const record = await captures.get(id);
          return record && (isOwn(record) || mayClone(record)) ? record : null;
        },
        /** Lists captures of the project and those it may clone. */
        list: (query: CaptureQuery) => listVisible(captures, query, (record) => isOwn(record) || mayClone(record)),
        ready: async (source: string) => (await captures.ready(source)).filter(mayClone),
      };
    },
    get hosts() {
      return {
        /** Lists hosts, with only those sources that the viewer may use. */
        list: async (): Promise<StoredHost[]> => {
          const [all, sees] = await Promise.all([hosts.list(), getSourceFilter()]);
          return isOperator ? all : all.map((host) => withVisibleSources(host, sees));
        },
      };
    },
    get sources() {
      return {
        get: (id: string) => sources.get(id),
        named: async (name: string) => ((await getSourceFilter())(name) ? sources.named(name) : []),
      };
    },
    get templates() {
      return {
        get: async (id: string) => own(await store.templates.get(id)),
        /** Lists templates that are present, newest first. */
        present: async () => (await store.templates.all(PRESENT_TEMPLATE_STATES)).filter(isOwn),
      };
    },
    get images() {
      return {
        ...pickMethods(store.images, 'create'),
        remove: async (id: string) => void (own(await store.images.get(id)) && (await store.images.remove(id))),
        get: async (id: string) => own(await store.images.get(id)),
        /** Lists the key's own project, also for operators. */
        list: (query: Omit<PageQuery, 'project'>) => store.images.list({ project, ...query }),
        /** Returns the latest build that made a source of that name from that snapshot. */
        ready: (name: string, snapshotId: string) => store.images.ready(project, name, snapshotId),
      };
    },
    /** Contexts of the key's own project. */
    get sentContexts() {
      return {
        ...pickMethods(store.sentContexts, 'put', 'complete'),
        bytes: () => store.sentContexts.bytesOf(project),
        begin: (digest: string) => store.sentContexts.begin(project, digest),
        use: (digest: string) => store.sentContexts.use(project, digest),
        remove: (id: string) => store.sentContexts.remove(id),
        /** Reads a context that {@link use} returned. */
        read: store.sentContexts.read.bind(store.sentContexts),
      };
    },
    get imageContexts() {
      return pickMethods(store.imageContexts, 'keep', 'remove');
    },
    get playbooks() {
      return {
        ...pickMethods(store.playbooks, 'create'),
        get: async (id: string) => own(await store.playbooks.get(id)),
        /** Lists the key's own project, also for operators. */
        list: (query: Omit<PageQuery, 'project'>) => store.playbooks.list({ project, ...query }),
      };
    },
    /** Unchecked: the caller must own the playbook. */
    get playbookParts() {
      return pickMethods(store.playbookParts, 'get');
    },
    get functions() {
      return {
        ...pickMethods(store.functions, 'create'),
        ...bindToProject(store.functions, 'get', 'change'),
        list: () => store.functions.list(project),
        remove: (name: string) => removeFunction(store, { project, name }),
      };
    },
    get functionVersions() {
      return {
        ...pickMethods(store.functionVersions, 'create'),
        ...bindToProject(store.functionVersions, 'get', 'list'),
        remove: (version: FunctionVersion) => removeVersion(store, version),
      };
    },
    get functionSetups() {
      return {
        get: (key: string) => store.functionSetups.get({ project, key }),
        ensure: (createdBy: Actor, wish: SetupInputs) => ensureSetup(store, { ...createdBy, project }, wish, true),
      };
    },
    get functionFiles() {
      return { put: (digest: string, bytes: Uint8Array) => store.functionFiles.put(project, digest, bytes) };
    },
    get hooks() {
      return {
        ...pickMethods(store.hooks, 'create'),
        get: async (id: string) => own(await store.hooks.get(id)),
        ...bindToProject(store.hooks, 'list'),
        change: async (id: string, changes: HookChanges) =>
          own(await store.hooks.get(id)) !== null && store.hooks.change(id, changes),
        remove: (id: string) => store.hooks.remove(id, isOperator ? {} : { project }),
      };
    },
    get webhookEndpoints() {
      return {
        ...pickMethods(store.webhookEndpoints, 'create'),
        get: async (id: string) => own(await store.webhookEndpoints.get(id)),
        /** Lists the key's own project, also for operators. */
        list: (unreadable?: Unreadable[]) => store.webhookEndpoints.list(project, unreadable),
        /** Unchecked: the caller must own the endpoint. */
        change: store.webhookEndpoints.change.bind(store.webhookEndpoints),
        remove: async (id: string) => {
          if (!(await store.webhookEndpoints.remove(id, isOperator ? {} : { project }))) return false;
          await store.webhookDeliveries.removeOf(id);
          return true;
        },
      };
    },
    /** Lists unchecked: the caller must own the endpoint. */
    get webhookDeliveries() {
      return {
        ...pickMethods(store.webhookDeliveries, 'list', 'again', 'recover'),
        get: async (id: string) => own(await store.webhookDeliveries.get(id)),
      };
    },
    get schedules() {
      return {
        ...pickMethods(store.schedules, 'create'),
        ...bindToProject(store.schedules, 'get', 'change', 'delete', 'ask'),
        list: (unreadable?: Unreadable[]) => store.schedules.list(project, unreadable),
        times: bindToProject(store.scheduleTimes, 'list').list,
      };
    },
    get bulks() {
      return {
        ...pickMethods(store.bulks, 'create', 'cancel'),
        get: async (id: string) => own(await store.bulks.get(id)),
        /** Returns the number of open bulks of a function. */
        openOf: async (name: string) =>
          (await store.bulks.open()).filter((each) => each.project === project && each.function === name).length,
      };
    },
    get runs() {
      return {
        ...pickMethods(store.runs, 'accept', 'redriven', 'wishCancel', 'cancelTold', 'end'),
        get: async (id: string) => own(await store.runs.get(id)),
        /** Returns the event of a run that the caller owns; null when it was removed. */
        event: (run: RunRecord) => eventOfRun(store, run),
        /** Lists the key's own project, also for operators. */
        list: (query: Omit<RunQuery, 'project'>) => store.runs.list({ project, ...query }),
        waiting: () => store.runQueue.waiting(project),
        /** Returns the number of waiting runs of one concurrency key, up to its limit. */
        countOfKey: (name: string, lane: string) =>
          store.runQueue.countOfKey({ project, name }, lane, LIMITS.functions.queuedOfKey),
        /** Reports whether a function has a run that has not ended, or whose cleanup may be incomplete. */
        areOpen: (name: string) => hasOpenRuns(store, { project, name }),
      };
    },
    get gatheredRuns() {
      return pickMethods(store.gatheredRuns, 'wakeIfFull');
    },
    /** Unchecked: the caller must own the run. */
    get receipts() {
      return pickMethods(store.receipts, 'get');
    },
    get runContents() {
      return pickMethods(store.runContents, 'put', 'get', 'read');
    },
    /** Unchecked: the caller must own the run. */
    get waitingRuns() {
      return pickMethods(store.waitingRuns, 'wake');
    },
    get waitpoints() {
      return pickMethods(store.waitpoints, 'ensure', 'list', 'addToken');
    },
    get secrets() {
      return {
        ...pickMethods(store.secrets, 'replace'),
        /** `get` also returns a deleted secret. */
        ...bindToProject(store.secrets, 'get'),
        list: () => store.secrets.list(project),
      };
    },
    get secretValues() {
      return bindToProject(store.secretValues, 'create', 'remove');
    },
    get secretUses() {
      return bindToProject(store.secretUses, 'list');
    },
    get imageLayers() {
      return pickMethods(store.imageLayers, 'get');
    },
    get bakedSources() {
      return {
        get: async (id: string) => own(await bakedSources.get(id)),
        named: async (name: string) => (await bakedSources.named(name)).filter(isOwn),
      };
    },
    get apiKeys() {
      return {
        ...pickMethods(apiKeys, 'create', 'ensure'),
        get: async (id: string) => ownKey(await apiKeys.get(id)),
        list: async () => (await apiKeys.list()).filter(ownKey),
        limit: async (id: string, quota: Parameters<typeof apiKeys.limit>[1]) =>
          ownKey(await apiKeys.get(id)) && apiKeys.limit(id, quota),
        revokeUnlessLast: async (id: string) => ownKey(await apiKeys.get(id)) && apiKeys.revokeUnlessLast(id),
      };
    },
    /** Admissions of the key's own project, also for operators. */
    get admissions() {
      return {
        admit: async (...wish: Rest<typeof store.admissions.admit>) =>
          store.admissions.admit(await getProject(), ...wish),
        /** Returns the usage that must end before these fit; null when ending sandboxes would not help. */
        shortage: async (wanted: readonly Counted[]) => {
          const { id, limits } = await getProject();
          return getShortage(limits, await store.admissions.useOf(id), wanted);
        },
        release: async (sandboxIds: readonly string[]) => store.admissions.release(await getProject(), sandboxIds),
      };
    },
    /** Returns the limit of open event streams, and whether this is the only project. */
    streamShare: async () => ({
      limit: (await getProject()).limits.streams,
      isAlone: (await store.projects.known()).size === 1,
    }),
    /** Reports whether the project has a disk limit, which placement enforces. */
    isDiskLimited: async () => (await getProject()).limits.diskBytes !== null,
    /** Returns the disk limit, bytes; null without one. */
    diskLimit: async () => (await getProject()).limits.diskBytes,
    /** Reports whether a project exists; only operators learn of others. */
    hasProject: async (id: string) => id === project || (isOperator && (await store.projects.get(id)) !== null),
    storedParts: async (): Promise<StorageUsage[]> => (await listStorageUse(store)).filter(isOwn),
  };
}

/** Parameters of a function, without the first. */
type Rest<F extends (...given: never[]) => unknown> = Parameters<F> extends [unknown, ...infer R] ? R : never;

export type ProjectStore = ReturnType<typeof createProjectStore>;

/** Binds the named methods of a repository. */
function pickMethods<T extends object, Name extends keyof T>(of: T, ...names: Name[]): Pick<T, Name> {
  const method = (name: Name) => [name, (of[name] as (...given: unknown[]) => unknown).bind(of)] as const;
  return Object.fromEntries(names.map(method)) as Pick<T, Name>;
}

/** Returns one page of the captures that may be seen. The cursor reveals nothing of the others. */
async function listVisible(
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
  return { items, nextCursor: isMore ? toCursor({ at: last.createdAt, id: last.id }) : null };
}

function withVisibleSources<H extends HostRecord>(host: H, sees: (name: string) => boolean): H {
  return { ...host, sources: host.sources.filter(({ name }) => sees(name)) };
}
