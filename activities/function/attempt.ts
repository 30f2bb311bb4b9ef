import { MayflyError } from '../../model/errors.ts';
import { type AttemptEnd, endOfAttempt, mayHaveStarted, unseenEnd } from '../../model/functions/command-end.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { FILES_FOLDER, runEnvironment } from '../../model/functions/guest-layout.ts';
import { isForWantOfRoom, nextStep } from '../../model/functions/next-step.ts';
import {
  type Attempt,
  attemptIds,
  lastAttempt,
  RUN_STATES,
  type RunArtifact,
  type RunOutcome,
  type RunRecord,
  UNDER_WAY,
} from '../../model/functions/run.ts';
import type { BegunAttempt, NextOfRun, RunInput } from '../../model/functions/run-saga.ts';
import type { HostRef } from '../../model/host.ts';
import type { Size } from '../../model/project-limits.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { type CommandInput, requestedCommand } from '../../model/sandbox/command.ts';
import { hostOf, isFinal, type SandboxSpec } from '../../model/sandbox/sandbox.ts';
import { sizeOfSource } from '../../model/source-size.ts';
import type { Reconciliation } from '../../sagas/reconciliation.ts';
import type { Store } from '../../store/connect.ts';
import type { Announcer } from '../webhook/announcer.ts';
import { acceptedSpec, requireSpec } from './accepted-version.ts';
import { giveSecrets, placesOf, requireSecrets, versionsOf } from './attempt-secrets.ts';
import { knownAttempt, PENDING, type SaidAttempt } from './known-attempt.ts';
import { admitSandbox, type Place } from './prepared/admitted-sandbox.ts';
import { type AttemptWish, claimMember, releaseMember } from './prepared/claimed-member.ts';
import { preparedSpec } from './prepared/prepared-spec.ts';
import { storedEvent } from './stored-event.ts';

interface Deps {
  store: Store;
  reconciliation: Reconciliation;
  announcer: Announcer;
}

/** Of what a command is given on its standard input with its request. Bytes. */
const LARGEST_STDIN = 1_048_576;
/** Its own TTL ends the sandbox of an attempt when nobody else does any more: as late as there is. Seconds. */
const TTL_SECONDS = 2_592_000;

/** What a run asks of the store. What runs is read from its version each time. */
export function createAttemptActivities({ store, reconciliation, announcer }: Deps) {
  async function mustGet(runId: string): Promise<RunRecord> {
    const run = await store.runs.get(runId);
    if (run) return run;
    throw new MayflyError('run_not_found', `There is no run ${runId}.`);
  }

  /** The size of its sandbox, which the quotas of its project let begin. */
  async function admitted(run: RunRecord, spec: FunctionSpec, sandboxId: string): Promise<Place> {
    const place = await placeOf(store, run.project, spec);
    await admitSandbox({ store, reconciliation }, run.project, sandboxId, place);
    return place;
  }

  /** It was cancelled while it waited for another attempt. */
  async function endBetween(run: RunRecord): Promise<void> {
    const at = new Date().toISOString();
    const ended = { outcome: 'cancelled', endedAt: at, updatedAt: at } as const;
    await store.runs.end(run.id, UNDER_WAY, ended, run.retentionDays);
    await store.runs.free(run.id, { cleanup: lastAttempt(run)?.cleanup ?? 'none' });
    await announcer.ofRun(run.id);
  }

  /**
   * How an attempt ended that is said not to have started: its command is written down before it is begun, so somebody else may
   * have begun it, and then only its record tells.
   */
  async function asSeen(end: AttemptEnd, { commandId }: Attempt): Promise<AttemptEnd> {
    const command = end.outcome === 'not-started' ? await store.commands.get(commandId) : null;
    if (!command || !mayHaveStarted(command)) return end;
    return command.state === 'ended' ? endOfAttempt(command) : unseenEnd('somebody else had begun its process');
  }

  /** @param run as it is to be, but for its end */
  async function endRun(run: RunRecord, end: AttemptEnd, event: AuditEvent): Promise<void> {
    const { id, attempts, failedStarts, result, artifacts, cleanup, updatedAt } = run;
    const { exitCode, signal, failure } = end;
    const outcome = outcomeOf(run, end);
    const changes = { attempts, failedStarts, result, artifacts, cleanup, updatedAt };
    const ended = { ...changes, exitCode, signal, failure, outcome, endedAt: updatedAt };
    await store.audit.record(id, { ...event, detail: { ...event.detail, outcome, exitCode, signal } });
    await store.runs.end(id, UNDER_WAY, ended, run.retentionDays);
  }

  async function artifactsOf(runId: string): Promise<RunArtifact[]> {
    const list = await store.runContents.get(runId, 'artifacts');
    return list ? (JSON.parse(Buffer.from(list).toString()) as RunArtifact[]) : [];
  }

  function changeLast(run: RunRecord, changes: Partial<Attempt>): Attempt[] {
    return run.attempts.map((each, n) => (n === run.attempts.length - 1 ? { ...each, ...changes } : each));
  }

  return {
    /**
     * What the next attempt is, or the one that is under way: of a run whose workflow was lost. Null: nothing of it is left to do.
     * @throws MayflyError why it can't be begun, which is written down by {@link endAttempt}
     */
    async beginAttempt({ runId }: Pick<RunInput, 'runId'>): Promise<BegunAttempt | null> {
      const run = await mustGet(runId);
      const last = lastAttempt(run);
      if (last && last.cleanup === 'pending') return begunOf(run, last, store);
      if (!UNDER_WAY.some((state) => state === run.state)) return null;
      if (run.cancelledBy !== null) {
        await endBetween(run);
        return null;
      }
      const n = run.attempts.filter(({ outcome }) => outcome !== 'not-started').length + 1;
      const tries = run.tries + 1;
      const { sandboxId, commandId } = attemptIds(runId, tries);
      const begunAt = new Date().toISOString();
      const attempt: Attempt = { n, sandboxId, commandId, begunAt, cleanup: 'pending', secrets: [], ...PENDING };
      const attempts = [...run.attempts.slice(0, n - 1), attempt];
      const next = { tries, attempts, member: null } as const;
      const changes = { ...next, state: 'preparing', waitingFor: null, updatedAt: begunAt } as const;
      await store.runs.begin(runId, UNDER_WAY, changes);
      return begunOf({ ...run, ...changes }, attempt, store);
    },

    /** What its sandbox is begun with, unless a pool has one. @throws MayflyError why there is to be none */
    async attemptSandbox({ runId }: Pick<RunInput, 'runId'>): Promise<AttemptSandbox> {
      const run = await mustGet(runId);
      const attempt = lastAttempt(run);
      if (!attempt) throw new MayflyError('internal', `${runId} has no attempt.`);
      const { sandboxId } = attempt;
      const present = await store.sandboxes.get(sandboxId);
      const isMember = sandboxId === run.member;
      if (present?.size) return { sandboxId, isMember, spec: present.spec, size: present.size };
      const spec = await preparedSpec(store, run.project, await requireSpec(store, run));
      await requireSecrets(store, run, spec);
      const wish = memberWishOf(run, spec, attempt);
      const claimed = wish && (await claimMember({ store, reconciliation }, run, attempt, wish));
      if (claimed) return { ...claimed, isMember: true };
      const { source, size } = await admitted(run, spec, sandboxId);
      return { sandboxId, isMember: false, spec: sandboxSpecOf(run, spec, source), size };
    },

    /** Writes down its command, which is begun by whoever is told. @returns null: it is not to be started any more */
    async beginRunCommand({ runId }: Pick<RunInput, 'runId'>): Promise<CommandInput | null> {
      const run = await mustGet(runId);
      const attempt = lastAttempt(run);
      const sandbox = attempt && (await store.sandboxes.get(attempt.sandboxId));
      const host = sandbox && hostOf(sandbox);
      if (!host) throw new MayflyError('sandbox_ended', `The sandbox of ${runId} is not there any more.`);
      const { commandId, sandboxId, n } = attempt;
      const input = { commandId, sandboxId, ...host };
      const present = await store.commands.get(commandId);
      if (present && present.state !== 'requested') return input;
      if (!present && (run.cancelledBy !== null || isExpired(run))) return null;
      const spec = await requireSpec(store, run);
      const deadline = new Date(Date.now() + spec.timeoutSeconds * 1_000).toISOString();
      const given = await giveSecrets(store, run, attempt, spec);
      const { env: secretEnv, files: secretFiles } = placesOf(given);
      if (given.length > 0) {
        await store.runs.change(runId, UNDER_WAY, { attempts: changeLast(run, { secrets: versionsOf(given) }) });
      }
      const hasSecretFiles = Object.keys(secretFiles).length > 0;
      const told = { runId, attempt: n, deadline, replayOf: run.replayOf, hasSecretFiles };
      const env = runEnvironment({ ...spec.env, ...secretEnv }, told);
      const event = await storedEvent(store, run);
      const isLarge = event.length > LARGEST_STDIN;
      const stdin = isLarge ? new Uint8Array() : event;
      const record = requestedCommand(
        commandId,
        { id: sandboxId, ...host },
        { ...commandOf(spec, env, isLarge), ...(given.length > 0 && { isMasked: true }) },
        run.createdBy,
      );
      await Promise.all([
        store.commands.create(record),
        store.commandInputs.keep(commandId, { env, stdin, secretFiles }),
        store.activity.openCommand(sandboxId, commandId),
      ]);
      const at = new Date().toISOString();
      await store.runs.change(runId, UNDER_WAY, { state: 'running', startedAt: run.startedAt ?? at, updatedAt: at });
      return input;
    },

    /** How its process ended. */
    async commandEnd(said: SaidAttempt): Promise<AttemptEnd> {
      const { runId } = said;
      const known = await knownAttempt(store, said);
      const command = known && (await store.commands.get(said.commandId));
      if (!command) return unseenEnd('the store was set back, and knows nothing of its process');
      const end = endOfAttempt(command);
      if (end.outcome !== 'not-started') {
        const at = new Date().toISOString();
        await store.runs.change(runId, UNDER_WAY, { state: 'collecting', waitingFor: null, updatedAt: at });
      }
      return end;
    },

    /**
     * Writes down how an attempt ended, and with it the run, unless something comes after it.
     * @param fetched what was fetched of it
     */
    async endAttempt({ end: told, fetched, event, ...said }: AttemptEnded): Promise<void> {
      const { runId } = said;
      const known = await knownAttempt(store, said);
      if (!known || known.attempt.outcome) return;
      const { run, attempt } = known;
      const end = await asSeen(told, attempt);
      const at = new Date().toISOString();
      const isFailedStart = end.outcome === 'not-started' && !isForWantOfRoom(end);
      const attempts = changeLast(run, { ...end, endedAt: at });
      const failedStarts = run.failedStarts + (isFailedStart ? 1 : 0);
      const { artifactCount = 0, ...rest } = fetched;
      const artifacts = artifactCount > 0 ? await artifactsOf(runId) : run.artifacts;
      const changes = { attempts, failedStarts, updatedAt: at, ...rest, artifacts };
      const spec = await acceptedSpec(store, run);
      const next = spec ? nextStep({ ...run, ...changes }, spec, Date.now()) : ({ step: 'end' } as const);
      if (next.step !== 'end') {
        await store.runs.change(runId, UNDER_WAY, changes);
        return;
      }
      await endRun({ ...run, ...changes }, end, event);
      await announcer.ofRun(runId);
    },

    /** Says whether a run waits for its host. */
    async showRun({ runId, isWaiting }: { runId: string; isWaiting: boolean }): Promise<void> {
      await store.runs.change(runId, RUN_STATES, { waitingFor: isWaiting ? 'host' : null });
    },

    /** Where its sandbox is. */
    async attemptHost({ runId }: Pick<RunInput, 'runId'>): Promise<HostRef> {
      const attempt = lastAttempt(await mustGet(runId));
      const sandbox = attempt && (await store.sandboxes.get(attempt.sandboxId));
      const host = sandbox && hostOf(sandbox);
      if (host) return host;
      throw new MayflyError('sandbox_ended', `The sandbox of ${runId} is not there any more.`);
    },

    /** Has the run go on from what is proved of its sandbox, which has ended. */
    async leaveAttempt({ event, ...said }: AttemptLeft): Promise<NextOfRun> {
      const { runId, sandboxId } = said;
      await releaseMember({ store, reconciliation }, runId);
      const sandbox = await store.sandboxes.get(sandboxId);
      if (sandbox ? !isFinal(sandbox.state) : await reconciliation.isSandboxOpen(sandboxId)) {
        await reconciliation.end(sandboxId);
        throw new Error(`${sandboxId} has not ended`);
      }
      const known = await knownAttempt(store, said);
      if (!known) return { step: (await store.runs.get(runId)) ? 'end' : 'lost' };
      const { run, attempt } = known;
      const cleanup = sandbox?.proof?.unproved === undefined ? 'proved' : 'unproved';
      const at = new Date().toISOString();
      const end = await asSeen(attempt, attempt); // its sandbox is gone: nobody begins it any more
      await store.attemptSecrets.remove(attempt.commandId);
      const changes = { attempts: changeLast(run, { ...end, cleanup }), cleanup, updatedAt: at } as const;
      if (run.state === 'ended') {
        await store.audit.record(runId, { ...event, detail: { ...event.detail, cleanup } });
        await store.runs.free(runId, changes);
        await announcer.ofRun(runId);
        return { step: 'end', outcome: run.outcome };
      }
      const spec = await acceptedSpec(store, run);
      const next = spec ? nextStep({ ...run, ...changes }, spec, Date.now()) : ({ step: 'end' } as const);
      if (next.step === 'retry') {
        await store.runs.change(runId, UNDER_WAY, { ...changes, cleanup: 'pending', waitingFor: 'retry' });
        return next;
      }
      if (next.step === 'end') {
        await endRun({ ...run, ...changes }, end, { ...event, eventId: `${runId}/run.ended`, kind: 'run.ended' });
        await store.audit.record(runId, { ...event, detail: { ...event.detail, cleanup } });
        await store.runs.free(runId, { cleanup });
        await announcer.ofRun(runId);
        return { step: 'end', outcome: outcomeOf(run, end) };
      }
      const fullUntil = new Date(Date.now() + next.pauseMs).toISOString();
      await store.functions.change({ project: run.project, name: run.function }, { fullUntil });
      await store.runs.requeue(run, { ...changes, cleanup: 'none', waitingFor: 'capacity' });
      await reconciliation.ensureDispatcher({ project: run.project, name: run.function });
      return { step: 'requeue' };
    },
  };
}

export type AttemptActivities = ReturnType<typeof createAttemptActivities>;

/** What the sandbox of an attempt is begun with, or joined. */
export interface AttemptSandbox {
  sandboxId: string;
  /** It was a pool's, and runs. */
  isMember: boolean;
  spec: SandboxSpec;
  size: Size;
}

export interface AttemptLeft extends SaidAttempt {
  event: AuditEvent;
}

export interface AttemptEnded extends SaidAttempt {
  end: AttemptEnd;
  /** Of its artifacts, how many: their list is in the store. */
  fetched: Partial<Pick<RunRecord, 'result'> & { artifactCount: number }>;
  event: AuditEvent;
}

/** @throws MayflyError snapshot_not_found */
async function placeOf(store: Store, project: string, spec: FunctionSpec): Promise<Place> {
  const { snapshotId, cpus, memoryMib } = spec;
  const hosts = await store.hosts.list();
  if (snapshotId === null) {
    const source = spec.source ?? '';
    return { source, size: sizeOfSource(source, hosts, { cpus, memoryMib }) };
  }
  const snapshot = await store.snapshots.get(snapshotId);
  if (snapshot?.project !== project) {
    throw new MayflyError('snapshot_not_found', `There is no snapshot ${snapshotId} any more.`);
  }
  const saved = snapshot.kind === 'full' ? snapshot.size : undefined;
  const wished = { cpus: cpus ?? saved?.cpus, memoryMib: memoryMib ?? saved?.memoryMib };
  return { source: snapshot.source, size: sizeOfSource(snapshot.source, hosts, wished) };
}

/** Null: of what it is made of there are no pools. */
function memberWishOf(run: RunRecord, spec: FunctionSpec, { begunAt }: Attempt): AttemptWish | null {
  const { source, snapshotId, cpus, memoryMib } = spec;
  if (source === null || snapshotId !== null) return null;
  const size = { cpus: cpus ?? undefined, memoryMib: memoryMib ?? undefined };
  return { spec: sandboxSpecOf(run, spec, source), size, requestedAt: begunAt };
}

function sandboxSpecOf(run: RunRecord, spec: FunctionSpec, source: string): SandboxSpec {
  return {
    source,
    snapshotId: spec.snapshotId,
    captureId: null,
    cpus: spec.cpus,
    memoryMib: spec.memoryMib,
    ttlSeconds: TTL_SECONDS,
    idleSeconds: null,
    autoResume: false,
    metadata: { purpose: `runs ${run.function}`, run: run.id },
    agentId: null,
    network: spec.network,
  };
}

/** @param isLarge its event comes on standard input from the file that has it */
function commandOf(spec: FunctionSpec, env: Record<string, string>, isLarge: boolean) {
  const { command, argv } = spec;
  return {
    command: isLarge && command !== null ? `exec <"$MAYFLY_EVENT"\n${command}` : command,
    argv: isLarge && argv !== null ? ['/bin/sh', '-c', 'exec "$@" <"$MAYFLY_EVENT"', 'sh', ...argv] : argv,
    envNames: Object.keys(env),
    cwd: FILES_FOLDER,
    user: spec.user,
    timeoutSeconds: spec.timeoutSeconds,
    graceSeconds: spec.graceSeconds,
    maxOutputBytes: spec.logBytes,
    stdinOpen: false,
  };
}

async function begunOf(run: RunRecord, attempt: Attempt, store: Store): Promise<BegunAttempt> {
  const { id: runId, tries, cancelledBy } = run;
  const { n, sandboxId, commandId, outcome, begunAt } = attempt;
  const [sandbox, command] = await Promise.all([store.sandboxes.get(sandboxId), store.commands.get(commandId)]);
  const isStarted = command !== null && command.state !== 'requested';
  const spec = await acceptedSpec(store, run);
  return {
    runId,
    n,
    sandboxId,
    commandId,
    begunAt,
    tries,
    isPresent: sandbox !== null,
    isStarted,
    hasEnded: outcome !== null,
    cancelledBy,
    ...(spec?.keep && { keeps: true }),
    ...(spec?.diff && { diffs: true }),
  };
}

function isExpired({ expiresAt }: RunRecord): boolean {
  return Date.parse(expiresAt) <= Date.now();
}

/** Of a run with which nothing comes after this attempt. */
function outcomeOf(run: RunRecord, { outcome }: AttemptEnd): RunOutcome {
  if (outcome !== 'not-started') return outcome ?? 'unknown';
  if (run.cancelledBy !== null) return 'cancelled';
  return isExpired(run) ? 'expired' : 'not-started';
}
