import type { SourceInput } from '../../model/snapshots/source-access.ts';
import { prepareSource } from './prepare-source.ts';
import { SourceLife } from './source-life.ts';
import { unprepareSource } from './unprepare-source.ts';

/** What is done to one source, one task at a time: its workflow id keeps a second one from beginning meanwhile. */
export async function source(input: SourceInput): Promise<void> {
  const life = new SourceLife(input);
  if (input.task === 'prepare') await prepareSource(life);
  else await unprepareSource(life);
}
