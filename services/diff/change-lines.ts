import { isErrorCode, MayflyError } from '../../model/errors.ts';
import type { FileChange, FileChangeCounts } from '../../model/files/file-change.ts';

/** Longer than any: diff/ answers a path of 32 KiB and 1 MiB of extended attributes, encoded, before and after. Characters. */
const MAX_LENGTH = 8 * 1_024 * 1_024;

/** A line of the relay's, as it came and as what it means. */
export type ChangeLine =
  | { text: string; line: 'change'; change: FileChange }
  | { text: string; line: 'end'; counts: FileChangeCounts };

type Parsed =
  | ({ line: 'change' } & FileChange)
  | ({ line: 'end' } & FileChangeCounts)
  | { line: 'error'; code: string; message: string };

/**
 * Returns what a host found out, line by line; all that came at once is given at once.
 * @throws MayflyError after any number of lines: why there are no more. It never ends without `end`.
 */
export async function* changeLines(response: Response): AsyncGenerator<ChangeLine[], void, undefined> {
  let whole = false;
  for await (const texts of textsOf(response)) {
    const lines: ChangeLine[] = [];
    try {
      for (const text of texts) {
        lines.push(parsed(text));
      }
    } catch (error) {
      yield lines;
      throw error;
    }
    whole ||= lines.at(-1)?.line === 'end';
    yield lines;
  }
  if (!whole) throw new MayflyError('host_unavailable', 'The host broke off before it had compared everything.');
}

/** The whole lines of each piece that arrives. */
async function* textsOf({ body }: Response): AsyncGenerator<string[], void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of body ?? []) {
      const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = texts.pop() ?? '';
      if (rest.length > MAX_LENGTH) throw new MayflyError('internal', 'The host sent a line without an end.');
      if (texts.length > 0) yield texts;
    }
  } catch (cause) {
    if (cause instanceof MayflyError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MayflyError('host_unavailable', `The host went away while it compared: ${why}.`, { cause });
  }
}

/** Checked by the host, line by line, when it came from the program that reads guests' disks. */
function parsed(text: string): ChangeLine {
  const { line, ...said } = JSON.parse(text) as Parsed;
  if (line === 'change') return { text, line, change: said as FileChange };
  if (line === 'end') return { text, line, counts: said as FileChangeCounts };
  const { code, message } = said as Extract<Parsed, { line: 'error' }>;
  throw new MayflyError(isErrorCode(code) ? code : 'internal', message);
}
