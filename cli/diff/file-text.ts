import type { FileComparison } from '../../model/files/file-comparison.ts';
import { quotedPath } from '../../model/files/guest-name.ts';
import { size } from '../snapshot/snapshot-text.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/io.ts';

const WHY = {
  same: 'is the same in both',
  binary: 'is not text',
  'too-large': 'is too large to be compared as text',
};

/** The text of one file: as a patch for a program; for a person made safe to look at, and coloured. */
export async function printFile(io: Io, { path, before, after, kind, diff }: FileComparison): Promise<void> {
  if (kind !== 'text') {
    const sizes = [before, after].map((side) => (side ? size(side.size) : 'absent'));
    io.print(printable(`${quotedPath(path)} ${WHY[kind]}: ${sizes.join(' → ')}`));
  } else if (!io.isTerminal) {
    await io.write('stdout', Buffer.from(diff ?? ''));
  } else {
    for (const line of (diff ?? '').replace(/\n$/, '').split('\n')) io.print(painted(io, line));
  }
}

function painted(io: Io, line: string): string {
  const shown = line.replaceAll('\t', '        ');
  if (/^(?:---|\+\+\+) /.test(line)) return io.paint('bold', shown);
  if (line.startsWith('@@')) return io.paint('dim', shown);
  if (line.startsWith('+')) return io.paint('green', shown);
  return line.startsWith('-') ? io.paint('red', shown) : printable(shown);
}
