import type { CommandRecord } from '../../model/sandbox/command.ts';
import type { Store } from '../../store/connect.ts';

/** Limit in characters. */
const LOG_LENGTH = 4_096;

/** Returns the end of a command's standard error or, if that is empty, of its standard output. */
export async function endOfLog(output: Store['output'], command: CommandRecord): Promise<string> {
  const texts = await Promise.all(
    (['stderr', 'stdout'] as const).map(async (stream) => {
      const last = await output.last(command.id, stream);
      const before = last && last.n > 0 ? await output.chunk(command.id, stream, last.n - 1) : null;
      const bytes = [before?.bytes, last?.chunk.bytes].flatMap((each) => (each ? [each] : []));
      return Buffer.concat(bytes).toString('utf8');
    }),
  );
  const text = texts.find((each) => each.trim() !== '') ?? '';
  return text.slice(-LOG_LENGTH);
}
