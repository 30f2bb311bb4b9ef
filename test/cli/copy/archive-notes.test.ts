import { expect, it } from 'vitest';
import { withNotes } from '../../../cli/copy/download.ts';
import { buildTar } from '../../../model/image/tar.ts';

const file = (path: string, bytes: Buffer) => ({ path, type: 'file' as const, mode: 0o644, bytes, link: null });
/** Length of the two blocks that end an archive, bytes. */
const END = 1_024;

/** Returns a PAX comment on the next entry. */
function comment(text: string): Buffer {
  const rest = ` comment=${text}\n`;
  const record = Buffer.from(`${rest.length + String(rest.length + 2).length}${rest}`);
  const header = Buffer.alloc(512);
  header.write(`${record.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('g', 156);
  return Buffer.concat([header, record, Buffer.alloc(512 - record.length)]);
}

async function notesIn(archive: Buffer, size: number): Promise<string[]> {
  const notes: string[] = [];
  async function* pieces() {
    for (let at = 0; at < archive.length; at += size) yield archive.subarray(at, at + size);
  }
  const passed: Uint8Array[] = [];
  for await (const piece of withNotes(pieces(), (note) => notes.push(note))) passed.push(piece);
  expect(Buffer.concat(passed).equals(archive)).toBe(true);
  return notes;
}

it.each([1, 511, 65_536])('notes are read from an archive in chunks of %d bytes', async (size) => {
  const one = Buffer.from(buildTar([file('a', Buffer.from('g'.repeat(1_000)))])).subarray(0, -END);
  const two = Buffer.from(buildTar([file('b', comment('mayfly: no note but the content of a file'))]));
  const archive = Buffer.concat([
    one,
    comment('mayfly: a: file shrank by 3 bytes; padding with zeros'),
    comment('x'),
    two,
  ]);
  expect(await notesIn(archive, size)).toEqual(['a: file shrank by 3 bytes; padding with zeros']);
});

it('other data passes unchanged', async () => {
  expect(await notesIn(Buffer.alloc(10_000, 'g'), 333)).toEqual([]);
});
