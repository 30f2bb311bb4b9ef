import type { z } from '@hono/zod-openapi';
import type { CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import { OUTPUT_CHUNK_BYTES } from '../../model/sandbox/output-frame.ts';
import { textOrBase64 } from '../../services/commands/output-text.ts';
import type { ProjectStore } from '../../store/project-store.ts';
import { viewOf } from '../http/schemas.ts';
import { commandAnswer } from './command-schemas.ts';

export type CommandView = z.infer<typeof commandAnswer>;

export const commandView = viewOf(commandAnswer);

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
