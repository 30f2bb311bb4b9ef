import type { AgentSession } from '../../host/guest/agent-session.ts';
import type { Hypervisor } from '../../host/hypervisor.ts';
import type { StepContext } from '../../host/step-context.ts';
import { MayflyError } from '../../model/errors.ts';
import type { FunctionSpec } from '../../model/functions/function.ts';
import { FILES_FOLDER, GUEST_FOLDER, WAIT_FILE, waitpointsFolder } from '../../model/functions/guest-layout.ts';
import type { RunDiff, RunRecord, RunResult } from '../../model/functions/run.ts';
import type { RunFailure } from '../../model/functions/run-state.ts';
import { isRunId } from '../../model/ids.ts';
import { buildTar, type TarEntry } from '../../model/image/tar.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import { Mask } from '../../model/secrets/mask.ts';
import { MAYFLY_WAIT } from '../../model/waitpoints/mayfly-wait.ts';
import type { Store } from '../../store/connect.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';
import { requireSpec } from './accepted-version.ts';
import { collectArtifacts, collectResult } from './collected.ts';
import { storeDiff } from './diff-on-host.ts';
import { GuestRequests } from './guest-requests.ts';
import { loadEvent } from './stored-event.ts';

export interface RunHostDeps {
  hypervisor: Pick<Hypervisor, 'snapshots'>;
  guests: { agent(sandboxId: string, context: StepContext): Promise<Pick<AgentSession, 'request'>> };
  functions: { store: Pick<Store, 'runs' | 'runContents' | 'functionVersions' | 'functionFiles' | 'attemptSecrets'> };
}

/** Target of a run's steps; `sandboxId` is the run's id, whose steps are queued like a sandbox's. */
interface RunTarget extends StepTarget {
  runId: string;
  attemptId: string;
}

interface CollectInput extends RunTarget {
  /** True when its process did not succeed. */
  isPartial: boolean;
}

interface Collected {
  result: RunResult | null;
  /** Number of artifacts; their list, up to a mebibyte, is in the store. */
  artifactCount: number;
  /** Failure of the result or artifacts; null: none. */
  failure: RunFailure | null;
}

/** Activities of a run on its sandbox's host. No input or output passes through a payload. */
export function createRunHostActivities({ guests, hypervisor: { snapshots }, functions: { store } }: RunHostDeps) {
  async function requireAttempt({ runId, attemptId }: RunTarget): Promise<{ run: RunRecord; spec: FunctionSpec }> {
    if (!isRunId(runId) || !isSandboxId(attemptId))
      throw new MayflyError('invalid_id', 'That is no run, or no sandbox.');
    const run = await store.runs.get(runId);
    if (!run?.attempts.some((attempt) => attempt.sandboxId === attemptId)) {
      throw new MayflyError('run_not_found', `${attemptId} is not of the run ${runId}.`);
    }
    return { run, spec: await requireSpec(store, run) };
  }

  /** Returns the mask of the attempt's secrets; null: no secrets. @throws MayflyError internal */
  async function maskOf(run: RunRecord, spec: FunctionSpec, { attemptId }: RunTarget): Promise<Mask | null> {
    if (spec.secrets.length === 0) return null;
    const attempt = run.attempts.find(({ sandboxId }) => sandboxId === attemptId);
    const given = attempt && (await store.attemptSecrets.get(attempt.commandId));
    if (given) return new Mask(given.map(({ value }) => value));
    throw new MayflyError('internal', `The secrets of ${attemptId} are not in the store any more.`);
  }

  async function guestOf({ attemptId }: RunTarget, context: StepContext): Promise<GuestRequests> {
    return new GuestRequests(await guests.agent(attemptId, context), context.signal);
  }

  return {
    /** Places the event and the function's files in the sandbox, over those of an earlier attempt. */
    async placeRunFiles(target: RunTarget): Promise<void> {
      const { run, spec } = await requireAttempt(target);
      const context = stepContext();
      const event = await loadEvent(store, run);
      const guest = await guestOf(target, context);
      context.alive('putting its event into the guest');
      await guest.putTar(GUEST_FOLDER, buildTar(layoutOf(run.id, event)), spec.user);
      if (spec.filesDigest === null || spec.setup) return; // its setup has placed them
      const files = await store.functionFiles.get(run.project, spec.filesDigest);
      if (!files) throw new MayflyError('function_gone', `The files of ${run.function} are not there any more.`);
      context.alive('putting its files into the guest');
      await guest.putTar(FILES_FOLDER, files, spec.user);
    },

    async collectRun(target: CollectInput): Promise<Collected> {
      const { run, spec } = await requireAttempt(target);
      const context = stepContext();
      const guest = await guestOf(target, context);
      const place = { runContents: store.runContents, runId: run.id, mask: await maskOf(run, spec, target) };
      const { result, problem } = await collectResult(guest, place, spec, target.isPartial);
      const fetched = await collectArtifacts(guest, place, spec, context);
      const list = Buffer.from(JSON.stringify(fetched.artifacts));
      await store.runContents.put(run.id, 'artifacts', list);
      const wrong = problem ?? fetched.problem;
      const failure = wrong && { code: wrong.code, message: wrong.message };
      return { result, artifactCount: fetched.artifacts.length, failure };
    },

    /** Diffs the sandbox before and after its process. @throws MayflyError diff_failed, snapshot_not_found */
    async diffRun(target: RunTarget): Promise<RunDiff> {
      const { run, spec } = await requireAttempt(target);
      const place = { snapshots, runContents: store.runContents, mask: await maskOf(run, spec, target) };
      return storeDiff(place, run, target.attemptId);
    },
  };
}

function layoutOf(runId: string, event: Uint8Array): TarEntry[] {
  const folder = (path: string): TarEntry => ({
    path,
    type: 'directory',
    mode: 0o755,
    bytes: new Uint8Array(),
    link: null,
  });
  return [
    folder('files'),
    folder('out'),
    folder('out/artifacts'),
    folder('waitpoints'),
    folder(waitpointsFolder(runId)),
    { path: WAIT_FILE, type: 'file', mode: 0o755, bytes: Buffer.from(MAYFLY_WAIT), link: null },
    { path: 'event.json', type: 'file', mode: 0o644, bytes: event, link: null },
  ];
}
