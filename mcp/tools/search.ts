import { z } from 'zod';
import { toVisibleText } from '../../model/approvals/visible-text.ts';
import { fitting, MAX_CHARS } from '../lib/bounded.ts';
import { ToolError } from '../lib/error-text.ts';
import { type Registration, SANDBOX, tool } from '../lib/tool.ts';
import { PATH } from './files.ts';

/** Maximum characters of a found line. */
const MAX_LINE = 300;
const TIMEOUT_SECONDS = 45;
/** Bytes searched for matches; the rest is reported as cut. */
const OUTPUT_BYTES = 1_048_576;
/** Exit code of grep and find without a match. */
const NOTHING = 1;

interface Found {
  path: string;
  line: number | null;
  text: string | null;
}

const searchFiles = tool({
  name: 'search_files',
  title: 'Search files',
  description: 'Find lines with a text, or files by name. Runs grep or find.',
  input: z.object({
    sandboxId: SANDBOX,
    path: PATH,
    text: z.string().min(1).max(1_000).optional(),
    isRegex: z.boolean().default(false).describe('POSIX, extended'),
    name: z.string().min(1).max(255).optional().describe('Glob, such as *.py'),
    maxChars: MAX_CHARS,
  }),
  output: z.object({
    items: z.array(z.object({ path: z.string(), line: z.number().nullable(), text: z.string().nullable() })),
    isCut: z.boolean(),
  }),
  // The audit records its command like any other.
  effect: 'adds',
  async run({ client, signal }, { sandboxId: named, path, text, isRegex, name, maxChars }) {
    if (text === undefined && name === undefined) {
      throw new ToolError('There is nothing to search for.', 'Call it again with text, name or both.');
    }
    const sandboxId = await client.sandboxIdOf(named, { signal });
    const argv = text === undefined ? findArgv(path, name ?? '*') : grepArgv(path, text, { isRegex, name });
    const request = { argv, timeoutSeconds: TIMEOUT_SECONDS, maxOutputBytes: OUTPUT_BYTES };
    const waitSeconds = TIMEOUT_SECONDS;
    const command = await client.commands.run(sandboxId, request, { waitSeconds, signal });
    const { exitCode } = command;
    const read = async (stream: 'stdout' | 'stderr') => {
      const body = await client.commands.output(sandboxId, command.id, stream, {
        offset: 0,
        limit: OUTPUT_BYTES,
        signal,
      });
      return Buffer.from(await new Response(body).arrayBuffer());
    };
    const all = text === undefined ? filesIn(await read('stdout')) : linesIn(await read('stdout'));
    if (all.length === 0 && exitCode !== 0 && exitCode !== NOTHING) {
      const why = toVisibleText((await read('stderr')).toString().trim()).slice(0, MAX_LINE);
      throw new ToolError(
        `${path} was not searched: ${why || `the search ended with ${exitCode ?? command.outcome}`}.`,
        'Mend that.',
      );
    }
    const items = fitting(all, lineOf, maxChars);
    const isCut = items.length < all.length || command.stdout.bytes > OUTPUT_BYTES;
    const more = isCut ? ['[there is more; narrow it, or raise maxChars]'] : [];
    return { text: [...items.map(lineOf), ...more].join('\n') || 'Nothing was found.', data: { items, isCut } };
  },
});

/** Separates names by NUL, so that no name is parsed as a line. */
function grepArgv(
  path: string,
  text: string,
  { isRegex, name }: { isRegex: boolean; name: string | undefined },
): string[] {
  const include = name === undefined ? [] : [`--include=${name}`];
  return ['grep', '-rnIZs', '--color=never', isRegex ? '-E' : '-F', ...include, '-e', text, '--', path];
}

function findArgv(path: string, name: string): string[] {
  return ['find', path, '-name', name, '-print0'];
}

function filesIn(output: Buffer): Found[] {
  const names = output.toString().split('\0').slice(0, -1);
  return names.map((path) => ({ path, line: null, text: null }));
}

function linesIn(output: Buffer): Found[] {
  const found = output.toString().matchAll(/([^\0]+)\0(\d+):([^\n]*)\n/g);
  return [...found].map(([, path = '', line, text = '']) => ({
    path,
    line: Number(line),
    text: text.slice(0, MAX_LINE),
  }));
}

function lineOf({ path, line, text }: Found): string {
  return line === null ? toVisibleText(path) : `${toVisibleText(path)}:${line}: ${toVisibleText(text ?? '')}`;
}

export const searchTools: Registration[] = [searchFiles];
