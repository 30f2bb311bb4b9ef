import { z } from 'zod';
import { ToolError } from '../lib/error-text.ts';
import { bytesAt, refuseRedacted } from '../lib/redacted.ts';
import { type Registration, SANDBOX, tool } from '../lib/tool.ts';
import { PATH } from './files.ts';

const MAX_STRING = 1_048_576;

const editFile = tool({
  name: 'edit_file',
  title: 'Edit a file',
  description: 'Replace oldString, which is there once, by newString. All other bytes stay.',
  input: z.object({
    sandboxId: SANDBOX,
    path: PATH,
    oldString: z.string().min(1).max(MAX_STRING),
    newString: z.string().max(MAX_STRING),
    replaceAll: z.boolean().default(false),
  }),
  output: z.object({ path: z.string(), size: z.number(), replaced: z.number() }),
  effect: 'destroys',
  async run({ client, signal }, { sandboxId, path, oldString, newString, replaceAll }) {
    const before = await bytesAt(client, { sandboxId, path, signal });
    if (before === null) throw new ToolError(`There is no ${path}.`, 'Make it with write_file.');
    const [old, replacement] = [Buffer.from(oldString), Buffer.from(newString)];
    const places = placesOf(before, old);
    if (places.length === 0) {
      const next = 'Read it, and give the text as it is, with its line ends and blanks.';
      throw new ToolError(`${path} does not have that oldString. Nothing was written.`, next);
    }
    if (places.length > 1 && !replaceAll) {
      const why = `${path} has that oldString ${places.length} times. Nothing was written.`;
      throw new ToolError(why, 'Give more of what is around it, or replaceAll true.');
    }
    const content = spliced(before, places, old.length, replacement);
    await refuseRedacted(client, { sandboxId, path, content, signal });
    const { size } = await client.files.write(sandboxId, path, content, { signal });
    const times = places.length === 1 ? 'one place' : `${places.length} places`;
    return {
      text: `${path} is changed in ${times} and has ${size} bytes now.`,
      data: { path, size, replaced: places.length },
    };
  },
});

/** Offsets, without those that overlap. */
function placesOf(bytes: Buffer, wanted: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function spliced(bytes: Buffer, places: readonly number[], length: number, replacement: Buffer): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const at of places) {
    parts.push(bytes.subarray(from, at), replacement);
    from = at + length;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

export const editTools: Registration[] = [editFile];
