import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { Agent } from '../../host/exec/agent-commands.ts';
import type { StepContext } from '../../host/step-context.ts';
import type { ContextEntry } from '../../model/dockerfile/context.ts';
import { MayflyError } from '../../model/errors.ts';
import type { ImageRecord } from '../../model/image/image.ts';
import { TRANSFER_ARCHIVE } from '../../model/image/stage-copy.ts';
import { streamStdin } from '../../model/image/step-input.ts';
import { ROOT_PROGRAM } from '../../model/image/step-program.ts';
import { expandBuild } from '../../model/image/steps.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { Store } from '../../store/connect.ts';
import { withHeartbeats } from '../step/step-context.ts';

export interface CarryDeps {
  images: {
    store: Pick<Store, 'images' | 'sentContexts' | 'imageContexts'>;
    /** Returns the path of the program that turns root file systems into VMs. @throws MayflyError host_unavailable */
    rootProgram: () => string;
  };
  guests: { agent(sandboxId: string, context: StepContext): Promise<Agent> };
}

interface ContextUpload {
  imageId: string;
  index: number;
  to: string;
}

interface GuestCopy {
  from: string;
  to: string;
}

/** Activities that copy files between the stages of a build. Not steps of a sandbox: they skip its queue. */
export function createCarryActivities({ guests, images: { store, rootProgram } }: CarryDeps) {
  return {
    /**
     * Streams the files that a COPY takes from a separately stored context into its step's sandbox.
     * @throws MayflyError why the guest can't be reached for now; image_failed when the context was deleted
     */
    async sendImageFiles({ imageId, index, to }: ContextUpload): Promise<void> {
      if (!isSandboxId(to)) throw new MayflyError('request_refused', 'Files are sent to a sandbox.');
      const record = await store.images.get(imageId);
      const step = record && expandBuild(record.request, record).steps[index];
      const bytesOf = record && (await contextReader(store, record));
      if (!step || !bytesOf) throw new MayflyError('image_failed', `The context of ${imageId} is not there any more.`);
      await withHeartbeats(`sending files of the context to ${to}`, async (context) => {
        const target = await guests.agent(to, context);
        if (step.program.isBrought) {
          const program = createReadStream(rootProgram());
          await put(target, program, { at: ROOT_PROGRAM, mode: '0700' }, context.signal);
        }
        const body = Readable.from(streamStdin(step.program, bytesOf), { objectMode: false });
        await put(target, body, ARCHIVE_FILE, context.signal);
      });
    },

    /**
     * Streams a stage's packed archive to another stage, replacing any there.
     * @throws MayflyError why a guest can't be reached for now
     */
    async carryImageFiles({ from, to }: GuestCopy): Promise<void> {
      for (const id of [from, to]) {
        if (!isSandboxId(id)) throw new MayflyError('request_refused', 'Files are carried between two sandboxes.');
      }
      await withHeartbeats(`copying from ${from} to ${to}`, async (context) => {
        const [source, target] = await Promise.all([from, to].map((id) => guests.agent(id, context)));
        if (!source || !target) throw new MayflyError('image_failed', 'There are no two stages.');
        await copyArchive(source, target, context.signal);
      });
    },
  };
}

const ARCHIVE_FILE = { at: TRANSFER_ARCHIVE, mode: '0600' };

/** Returns a reader of a context, stored separately or with the build. Null: deleted. */
async function contextReader(
  store: CarryDeps['images']['store'],
  { id, project, request: { context } }: ImageRecord,
): Promise<((entry: ContextEntry) => AsyncIterable<Uint8Array>) | null> {
  if (context?.digest !== undefined) {
    const kept = await store.sentContexts.use(project, context.digest);
    return kept && (({ at = 0, size }) => store.sentContexts.read(kept.id, at, size));
  }
  const archive = (await store.imageContexts.get(id))?.archive;
  return archive ? ({ at = 0, size }) => Readable.from([archive.subarray(at, at + size)]) : null;
}

function pathOf(at: string): string {
  return `/v1/files?path=${Buffer.from(at).toString('base64url')}`;
}

async function copyArchive(source: Agent, target: Agent, signal: AbortSignal): Promise<void> {
  const read = await source.request({ method: 'GET', path: pathOf(TRANSFER_ARCHIVE), signal });
  await assertStatus(read.status, read.body, [200]);
  const length = read.headers['content-length'];
  await put(target, read.body, { ...ARCHIVE_FILE, ...(length !== undefined && { length }) }, signal);
}

interface FileUpload {
  at: string;
  mode: string;
  /** Length of the content, where known. */
  length?: string;
}

/** Replaces the file atomically: the guest has all of it, or nothing. */
async function put(target: Agent, body: Readable, file: FileUpload, signal: AbortSignal): Promise<void> {
  const { at, mode, length } = file;
  const headers = { 'content-type': 'application/octet-stream', ...(length && { 'content-length': length }) };
  try {
    const path = `${pathOf(at)}&mode=${mode}&user=root`;
    const written = await target.request({ method: 'PUT', path, headers, body, signal });
    await assertStatus(written.status, written.body, [200, 201]);
    written.body.resume();
  } finally {
    body.destroy();
  }
}

/** Never reads the guest's reason, which is untrusted in size. */
async function assertStatus(status: number, body: Readable, expected: readonly number[]): Promise<void> {
  if (expected.includes(status)) return;
  const said =
    status === 507 || status === 413 ? 'the guest has no room for what is copied' : `the guest answered ${status}`;
  body.destroy();
  throw new MayflyError('image_failed', `What a stage copies from another one could not be brought there: ${said}.`);
}
