import { stepContext } from './living-guest.ts';
import type { TestMachine } from './machine.ts';

/** Lists the differences of two snapshots: `added /path`, `changed /path: content, mtime`, sorted by name. */
export async function changesOf(
  { host }: TestMachine,
  before: string,
  after: string,
  within: string[] = [],
): Promise<string[]> {
  const found: string[] = [];
  for await (const record of host.snapshots.compare({ before, after, within }, stepContext().signal)) {
    if (record.line !== 'change') continue;
    const what = record.change === 'changed' ? `: ${record.what.join(', ')}` : '';
    found.push(`${record.change} ${typeof record.path === 'string' ? record.path : record.path.base64}${what}`);
  }
  return found.toSorted();
}
