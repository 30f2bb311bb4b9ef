import type { z } from '@hono/zod-openapi';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES } from '../../model/sandbox/output-frame.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import type { commandAnswer } from './command-schemas.ts';
import { textOrBase64 } from './output-text.ts';

export type CommandView = z.infer<typeof commandAnswer>;

/** A record as every route answers it, field by field. */
export function commandView(record: CommandRecord): CommandView {
  const { command, argv, envNames, cwd, user, timeoutSeconds, maxOutputBytes, stdinOpen } = record.spec;
  return {
    id: record.id,
    sandboxId: record.sandboxId,
    hostId: record.hostId,
    spec: { command, argv, envNames, cwd, user, timeoutSeconds, maxOutputBytes, stdinOpen },
    createdBy: record.createdBy,
    state: record.state,
    requestedAt: record.requestedAt,
    startedAt: record.startedAt,
    endedAt: record.endedAt,
    outcome: record.outcome,
    exitCode: record.exitCode,
    signal: record.signal,
    reason: record.reason,
    failure: record.failure,
    stdout: record.stdout,
    stderr: record.stderr,
  };
}

/** With the beginning of its output, for those who only want to know what it said: as much as one chunk. */
export async function commandViewWithOutput(store: ProjectStore, record: CommandRecord): Promise<CommandView> {
  const [stdout, stderr] = await Promise.all([startOf(store, record, 'stdout'), startOf(store, record, 'stderr')]);
  return { ...commandView(record), output: { stdout, stderr } };
}

async function startOf(store: ProjectStore, record: CommandRecord, stream: OutputStream) {
  const { bytes: written, kept } = record[stream];
  const bytes = kept > 0 ? await store.output.read(record.id, stream, 0, OUTPUT_CHUNK_BYTES) : new Uint8Array();
  const truncated = written > bytes.length;
  return { ...textOrBase64(bytes, { isCut: truncated }), truncated };
}
