import { MayflyError } from '../../model/errors.ts';
import { type ImageFailure, type ImageRecord, isImageFinal } from '../../model/image/image.ts';
import {
  deriveStepCommandId,
  deriveStepSnapshotId,
  type ImageStepLocation,
  type ImageStepRef,
} from '../../model/image/image-saga.ts';
import { formatReadyCheck, LONGEST_CHECK_SECONDS, READY_FILE } from '../../model/image/ready.ts';
import { indexFiles } from '../../model/image/sent-context.ts';
import { guessFailureCause } from '../../model/image/step-hint.ts';
import { assembleStdin, withStdinFile } from '../../model/image/step-input.ts';
import { AS_ROOT, needsUpload, type StepProgram } from '../../model/image/step-program.ts';
import { type Build, type BuildStep, expandBuild } from '../../model/image/steps.ts';
import { LIMITS } from '../../model/limits.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import { type CommandRecord, newCommandRecord } from '../../model/sandbox/command.ts';
import type { CommandInput } from '../../model/sandbox/command-saga.ts';
import type { AttemptSecret } from '../../model/secrets/secret.ts';
import { recordCommand } from '../../services/commands/record-command.ts';
import type { Store } from '../../store/connect.ts';
import { requireHost } from '../sandbox/require-host.ts';
import { takeSnapshot } from '../snapshot/taken-snapshot.ts';
import type { SagaDeps } from '../step/saga-deps.ts';
import { endOfLog } from './log-end.ts';

interface ImageChange {
  imageId: string;
  changes: Partial<ImageRecord>;
  /** `@default` none */
  events?: AuditEvent[];
}

/** Activities of a build on the store and its sandboxes. They read its steps from its record each time. */
export function createImageActivities({ store, reconciliation }: SagaDeps) {
  return {
    /**
     * Appends events to a build's audit trail and changes its record. Idempotent by the events' ids.
     * @returns true when it was final before; then nothing changes
     */
    async rememberImage({ imageId, changes, events = [] }: ImageChange): Promise<boolean> {
      if (isImageFinal((await store.images.get(imageId))?.state ?? 'queued')) return true;
      for (const event of events) await store.audit.record(imageId, event);
      await store.images.update(imageId, changes);
      return false;
    },

    /** Removes the context and secrets of a finished build. */
    async forgetImageContext({ imageId }: { imageId: string }): Promise<void> {
      const record = await store.images.get(imageId);
      const steps = record ? expandBuild(record.request, record).steps : [];
      for (const [index, { program }] of steps.entries()) {
        if (program.secrets.length > 0) await store.attemptSecrets.remove(deriveStepCommandId({ imageId, index }));
      }
      await store.imageContexts.remove(imageId);
    },

    /**
     * Returns the sandbox of a step. The step's files are placed there before its command is recorded: from then
     * on, the reconciler may start it.
     */
    async imageStepPlace(ref: ImageStepRef): Promise<ImageStepLocation> {
      const { record, build } = await stepOf(store, ref);
      return placeOf(store, builderOf(record, build, ref));
    },

    /** Records the command of a step, which its workflow then starts. Idempotent: the command's id is the step's. */
    async beginImageStep(ref: ImageStepRef): Promise<CommandInput> {
      const { record, build, step } = await stepOf(store, ref);
      const { sandboxId, ...host } = await placeOf(store, builderOf(record, build, ref));
      const program = programOf(step, ref);
      const { cwd, user, env } = program;
      const isSent = needsUpload(program, record.request.context?.digest !== undefined);
      const argv = isSent ? withStdinFile(program) : program.argv;
      const stdin = isSent ? new Uint8Array() : await inputOf(store, ref.imageId, program);
      const { outputBytes: maxOutputBytes } = LIMITS.image;
      const timeoutSeconds = ref.part === 'ready' ? LONGEST_CHECK_SECONDS : LIMITS.image.timeoutSeconds;
      const spec = { argv, cwd, user, timeoutSeconds, maxOutputBytes };
      const commandId = deriveStepCommandId(ref);
      const isMasked = program.secrets.length > 0; // the guest masks them verbatim, the host in other encodings too
      if (isMasked) await store.attemptSecrets.keep(commandId, await secretsOf(store, ref.imageId, program));
      const plain = { ...spec, command: null, envNames: Object.keys(env), stdinOpen: false };
      const whole = { ...plain, ...(isMasked && { isMasked }) };
      const command = newCommandRecord(commandId, { id: sandboxId, ...host }, whole, record.createdBy);
      return recordCommand(store, command, { env, stdin });
    },

    /** @returns the failure of the step; null: it succeeded */
    async imageStepFailure(ref: ImageStepRef): Promise<ImageFailure | null> {
      const command = await store.commands.get(deriveStepCommandId(ref));
      if (command?.outcome === 'exited' && command.exitCode === 0) return null;
      const { record, step } = await stepOf(store, ref);
      const said = ref.part === 'ready' ? { line: null, text: formatReadyCheck(record.request) } : step;
      const log = command ? await endOfLog(store.output, command) : null;
      return failureOf(said, command, log, guessFailureCause(log ?? '', record.request));
    },

    /** Snapshots a step, once; resolves when the snapshot is ready. */
    async takeImageLayer(ref: ImageStepRef): Promise<{ snapshotId: string }> {
      const { record, build, step } = await stepOf(store, ref);
      const snapshotId = deriveStepSnapshotId(ref);
      const wish = { operationId: snapshotId, actor: record.createdBy };
      await takeSnapshot({ store, reconciliation }, builderOf(record, build, ref), wish);
      await store.imageLayers.put({ id: step.key, snapshotId, createdAt: new Date().toISOString() });
      return { snapshotId };
    },

    /** Returns the host and origin of a snapshot, and the name of a source baked from it on that host. */
    async imageSnapshot({ snapshotId }: { snapshotId: string }) {
      const found = await store.snapshots.get(snapshotId);
      if (!found) throw new MayflyError('snapshot_not_found', `There is no snapshot ${snapshotId} any more.`);
      const { id, sandboxId, source, hostId, installationId } = found;
      const made = await store.bakedSources.ofSnapshot(id);
      const like = made.find((each) => each.hostId === hostId && each.state === 'ready')?.name ?? null;
      return { snapshot: { id, sandboxId, source }, host: { hostId, installationId }, like };
    },

    /** Reports whether a source is the result of a bake: another bake may own its name by now. */
    async isBakedBy({ sourceId, bakeId }: { sourceId: string; bakeId: string }): Promise<boolean> {
      const source = await store.bakedSources.get(sourceId);
      return source?.bakeId === bakeId && source.state !== 'deleted' && source.state !== 'failed';
    },
  };
}

async function stepOf(
  store: Store,
  { imageId, index }: ImageStepRef,
): Promise<{ record: ImageRecord; build: Build; step: BuildStep }> {
  const record = await store.images.get(imageId);
  const build = record && expandBuild(record.request, record);
  const step = build?.steps[index];
  if (!build || !step) throw new MayflyError('image_not_found', `There is no step ${index} of the image ${imageId}.`);
  return { record, build, step };
}

async function placeOf(store: Store, sandboxId: string): Promise<ImageStepLocation> {
  return { sandboxId, ...(await requireHost(store, sandboxId, `The builder ${sandboxId}`)) };
}

function programOf({ program, copied }: BuildStep, { part }: ImageStepRef): StepProgram {
  if (part === 'ready') return { ...AS_ROOT, argv: [READY_FILE], stdin: '' };
  return part === 'pack' && copied ? copied.program : program;
}

/**
 * Returns the sandbox of a step's command: of its own stage, or of the stage to copy from, or the readiness checker.
 */
function builderOf(record: ImageRecord, { stages, steps }: Build, { index, part }: ImageStepRef): string {
  if (part === 'ready') return record.checkerId ?? '';
  const own = stages.findIndex(({ first, end }) => first <= index && index < end);
  const place = part === 'pack' ? steps[index]?.copied?.stage : own;
  return record.stages?.find((stage) => stage.place === place)?.builderId ?? record.builderId;
}

/** Returns the secrets of a step as text, to mask its output. */
async function secretsOf(store: Store, imageId: string, { secrets: ids }: StepProgram): Promise<AttemptSecret[]> {
  const kept = await store.imageContexts.get(imageId);
  return ids.map((name) => {
    const value = Buffer.from(kept?.secrets[name] ?? '', 'base64').toString();
    return { name, version: 1, env: null, file: null, value };
  });
}

/** Returns the standard input of a step. Reads the context, or secrets, only for steps that use them. */
async function inputOf(store: Store, imageId: string, program: StepProgram): Promise<Uint8Array> {
  const isTaken = program.files.length + program.secrets.length > 0;
  const kept = isTaken ? await store.imageContexts.get(imageId) : null;
  const files = program.files.length > 0 && kept?.archive ? indexFiles(kept.archive) : null;
  const requireFound = <T>(found: T | undefined): T => {
    if (found !== undefined) return found;
    throw new MayflyError('image_failed', `The context of ${imageId} is not there any more.`);
  };
  return assembleStdin(
    program,
    (path) => requireFound(files?.get(path)).bytes,
    (id) => Buffer.from(requireFound(kept?.secrets[id]), 'base64'),
  );
}

function failureOf(
  { line, text }: Pick<BuildStep, 'line' | 'text'>,
  command: CommandRecord | null,
  log: string | null,
  hint: string | null,
): ImageFailure {
  const where = line === null ? text : `line ${line}: ${text}`;
  return {
    code: 'image_step_failed',
    message: [`${where}: ${outcomeOf(command)}`, hint].filter(Boolean).join('; '),
    line,
    exitCode: command?.exitCode ?? null,
    log,
  };
}

function outcomeOf(command: CommandRecord | null): string {
  if (!command) return 'nothing is known of it';
  const { outcome, exitCode, signal, failure, reason } = command;
  if (outcome === 'exited') return `exit code ${exitCode}`;
  if (outcome === 'signaled') return `ended by ${signal}`;
  return [outcome, failure?.message ?? reason].filter(Boolean).join(': ');
}
