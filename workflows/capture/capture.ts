import type { CaptureInput } from '../../model/snapshots/capture-saga.ts';
import { CaptureLife } from './capture-life.ts';
import { deleteCapture } from './delete-capture.ts';
import { takeCapture } from './take-capture.ts';

/** What is done to the captures of one source, one task at a time: its workflow id keeps a second one from beginning meanwhile. */
export async function capture(input: CaptureInput): Promise<void> {
  const life = new CaptureLife(input);
  if (input.task === 'create') await takeCapture(life, input);
  else await deleteCapture(life);
}
