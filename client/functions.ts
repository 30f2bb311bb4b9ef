import { setTimeout as sleep } from 'node:timers/promises';
import type { BulkRecord } from '../model/functions/bulk.ts';
import type {
  Batching,
  ConcurrencyRule,
  Debounce,
  FunctionRecord,
  FunctionSpec,
  RetryPolicy,
  SetupSpec,
  ThrottleRule,
  FunctionVersion as VersionRecord,
} from '../model/functions/function.ts';
import type { RunOutcome, RunState } from '../model/functions/run.ts';
import type { SetupRecord } from '../model/functions/setup/setup.ts';
import type { WaitSpec } from '../model/waitpoints/waiting.ts';
import { bytesOf } from './http/content.ts';
import type { CallOptions, PostOptions, Transport } from './http/transport.ts';

/** What to deploy: one of `source`, `snapshotId` and `setup`, and one of `command` and `argv`. */
export interface DeployFunction {
  /** A source: what a fresh sandbox of each run is made of. */
  source?: string;
  /** In its place: a snapshot. */
  snapshotId?: string;
  /**
   * In its place: a sandbox of `source` in which `script` has succeeded is saved, once for its content, and each run is a fork of
   * that. `timeoutSeconds`: of the script. `@default` 600
   */
  setup?: Omit<SetupSpec, 'timeoutSeconds'> & { timeoutSeconds?: number };
  /** Its process begins among these files: a tar archive in base64, of at most 16 MiB. `@default` none */
  files?: { tar: string };
  /** Run by the user's login shell exactly as written. */
  command?: string;
  /** Run without any shell. */
  argv?: string[];
  /** A user of the guest. `@default` its login user */
  user?: string;
  /** Names do not begin with `MAYFLY_`. `@default` {} */
  env?: Record<string, string>;
  /** Each in a variable, or in a file of the folder `$MAYFLY_SECRETS`: docs/secrets.md. `@default` none */
  secrets?: { name: string; env?: string; file?: string }[];
  /** `schema`: JSON Schema 2020-12 of the data. `@default` anything, of at most 3 MiB */
  input?: { schema?: unknown; maxBytes?: number };
  /** How long a process may take. Seconds. `@default` 600 */
  timeoutSeconds?: number;
  /** From SIGTERM to SIGKILL when it is ended; in a guest of an older Mayfly 5. Seconds. `@default` 10 */
  graceSeconds?: number;
  /** A run that was not started by then expires. Seconds. `@default` 21600 */
  maxEventAgeSeconds?: number;
  /** More than one attempt needs `idempotent`. `@default` one attempt */
  retry?: Partial<Omit<RetryPolicy, 'exitCodes' | 'backoff'>> & {
    /** `@default` any */
    exitCodes?: number[];
    /** `@default` 1 s, twice as long each time, 300 s at most, with jitter */
    backoff?: Partial<RetryPolicy['backoff']>;
  };
  /** Its process may be started again for the same event. `@default` false */
  idempotent?: boolean;
  /** At most two rules. `@default` 100 runs at once */
  concurrency?: (Pick<ConcurrencyRule, 'limit'> & {
    /** A JSON Pointer into the data: so many runs of each value. `@default` all runs count together */
    key?: string;
    /** `@default` queue */
    onFull?: ConcurrencyRule['onFull'];
  })[];
  /** How many begin in a time. `@default` as soon as its concurrency lets them */
  throttle?: Pick<ThrottleRule, 'limit' | 'periodSeconds'> & {
    /** So many at once when none has begun for long enough. `@default` 1 */
    burst?: number;
    /** A JSON Pointer into the data: so many runs of each value. `@default` all runs count together */
    key?: string;
    /** `@default` queue */
    onFull?: ThrottleRule['onFull'];
  };
  /** Events gather until none has come for a period; then the newest runs, for all of them. `@default` each runs */
  debounce?: Omit<Debounce, 'key'> & { key?: string };
  /** Events gather, and one run has them all; not together with `debounce`. `@default` each runs by itself */
  batch?: Omit<Batching, 'key'> & { key?: string };
  /** Runs are of the version that is active when they are admitted. `@default` false: of the one that their event was accepted for */
  lateBinding?: boolean;
  /** 0 to 9: ahead of runs that were accepted up to so many minutes before. `@default` 0 */
  priority?: number;
  /** `@default` nothing can be reached */
  network?: FunctionSpec['network'];
  /** `@default` the source's */
  cpus?: number;
  /** MiB. `@default` the source's */
  memoryMib?: number;
  /** Bytes. `@default` 10 MiB */
  result?: { maxBytes?: number };
  /** Which files below the folder of artifacts are kept. `@default` all, of 1 GiB at most */
  artifacts?: { globs?: string[]; maxBytes?: number };
  /** How much of each output stream is kept. Bytes. `@default` 10 MiB */
  logBytes?: number;
  /** Ids of webhook endpoints that are told of the end of its runs. `@default` none */
  destinations?: { onSuccess?: string; onFailure?: string };
  /** How long a run that has ended can be read. Days. `@default` 30 */
  retentionDays?: number;
  /** `disk`: of a run that failed or timed out a snapshot is kept, `days` (1 to 30, `@default` 7) long. `@default` none */
  keep?: { onFailure: 'none' | 'disk'; days?: number };
  /** What its process changes in the file system is told. `@default` false */
  diff?: boolean;
  /** What becomes of a run whose process waits. `@default` hibernated after 30 s, its time counts, its slot is kept */
  wait?: Partial<WaitSpec>;
}

/** A function as the API shows it. */
export type DeployedFunction = Omit<FunctionRecord, 'fullUntil'>;

/** A version as the API shows it: what is in its environment is not told. */
export interface FunctionVersion extends Omit<VersionRecord, 'project' | 'spec'> {
  /** Events are accepted for it. */
  isActive: boolean;
  /** How far its setup is. Absent: it has none. `log`: the end of what its script printed, where it failed. */
  setup?: Pick<SetupRecord, 'state' | 'snapshotKind' | 'log' | 'waitingFor'> & {
    failure: { code: string; message: string } | null;
  };
  /** Of its secrets, in the answer to its deployment: those that are not masked in what it prints. */
  warnings?: string[];
  spec: Omit<FunctionSpec, 'env' | 'keep' | 'diff' | 'wait'> & {
    envNames: string[];
    wait: WaitSpec;
    diff: boolean;
    keep: { onFailure: 'none' | 'disk'; days: number };
  };
}

const ALL = '/v1/functions';
/** Milliseconds. */
const PREPARING_EVERY_MS = 1_000;

/** Programs that run once for each event, in a sandbox of its own. Throws as {@link MayflyClient} does. */
export class Functions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Has events accepted for this from now on.
   * @returns `isNew`: that content was not deployed before; else it is the version that was
   */
  async deploy(
    name: string,
    spec: DeployFunction,
    options: CallOptions = {},
  ): Promise<{ version: FunctionVersion; isNew: boolean }> {
    const request = { method: 'PUT', path: pathOf(name), body: spec } as const;
    return this.#transport.repeated(options, async (signal) => {
      const response = await this.#transport.open(request, signal);
      const text = new TextDecoder().decode(await bytesOf(response, this.#transport, signal));
      return { version: JSON.parse(text) as FunctionVersion, isNew: response.status === 201 };
    });
  }

  /** What a version is when its setup is ready, or has failed; at once where it has none. @throws TypeError where it is gone */
  async prepared(name: string, version: number, options: CallOptions = {}): Promise<FunctionVersion> {
    for (;;) {
      const found = (await this.versions(name, options)).items.find((each) => each.version === version);
      if (!found) throw new TypeError(`${name} has no version ${version} any more`);
      if (found.setup?.state !== 'preparing') return found;
      await sleep(PREPARING_EVERY_MS, undefined, options.signal ? { signal: options.signal } : {}).catch((cause) => {
        options.signal?.throwIfAborted();
        throw cause;
      });
    }
  }

  /** By name. */
  list(options: CallOptions = {}): Promise<{ items: DeployedFunction[] }> {
    return this.#transport.json({ method: 'GET', path: ALL }, options);
  }

  get(name: string, options: CallOptions = {}): Promise<DeployedFunction> {
    return this.#transport.json({ method: 'GET', path: pathOf(name) }, options);
  }

  /** All that are kept, newest first. */
  versions(name: string, options: CallOptions = {}): Promise<{ items: FunctionVersion[] }> {
    return this.#transport.json({ method: 'GET', path: `${pathOf(name)}/versions` }, options);
  }

  /** Has events accepted for a version that was deployed before. Runs that wait keep theirs. */
  activate(name: string, version: number, options: PostOptions = {}): Promise<FunctionVersion> {
    const path = `${pathOf(name)}/versions/${encodeURIComponent(version)}/activate`;
    return this.#transport.json({ method: 'POST', path }, options);
  }

  /** No run of it is started; its events are accepted all the same. */
  pause(name: string, options: PostOptions = {}): Promise<DeployedFunction> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(name)}/pause` }, options);
  }

  resume(name: string, options: PostOptions = {}): Promise<DeployedFunction> {
    return this.#transport.json({ method: 'POST', path: `${pathOf(name)}/resume` }, options);
  }

  /** Returns when it is written down: it goes on by itself, and acts on each run once. */
  startBulk(name: string, { action, version, filter, ...options }: BulkWish): Promise<BulkAction> {
    const body = { action, version, filter };
    return this.#transport.json({ method: 'POST', path: `${pathOf(name)}/bulk`, body }, options);
  }

  bulk(name: string, id: string, options: CallOptions = {}): Promise<BulkAction> {
    return this.#transport.json({ method: 'GET', path: bulkPath(name, id) }, options);
  }

  /** It ends with the runs that it is at; what it has done stays. */
  cancelBulk(name: string, id: string, options: PostOptions = {}): Promise<BulkAction> {
    return this.#transport.json({ method: 'POST', path: `${bulkPath(name, id)}/cancel` }, options);
  }

  /**
   * @param options `drain`: it goes when its runs have ended. `@default` false: one whose runs have not ended is not deleted
   * @returns what is left of it until then; null: it is gone
   */
  async delete(
    name: string,
    { drain = false, ...options }: CallOptions & { drain?: boolean } = {},
  ): Promise<DeployedFunction | null> {
    const query = drain ? { drain: 'true' } : {};
    const request = { method: 'DELETE', path: pathOf(name), query } as const;
    return (await this.#transport.json<DeployedFunction | undefined>(request, options)) ?? null;
  }
}

/** Which runs, as in {@link Runs.list}. */
export interface BulkWish extends PostOptions {
  action: BulkAction['action'];
  /** Of the function. `@default` current for a redrive, else same */
  version?: BulkAction['version'];
  /** `@default` all that were accepted before; of a redrive dead letters, of a cancel those that have not ended */
  filter?: { state?: RunState; outcome?: RunOutcome; key?: string; since?: string };
}

/** An action on many runs, as the API shows it. */
export type BulkAction = Omit<BulkRecord, 'filter' | 'pages' | 'place' | 'page' | 'digest' | 'refusals'> & {
  refusals: { runId: string; failure: { code: string; message: string } }[];
};

function pathOf(name: string): string {
  return `${ALL}/${encodeURIComponent(name)}`;
}

function bulkPath(name: string, id: string): string {
  return `${pathOf(name)}/bulk/${encodeURIComponent(id)}`;
}
