import { CancellationScope, log } from '@temporalio/workflow';

/** Registers the compensation of the next step, to run whenever the saga fails. Registrations are final. */
export type Undo = (step: string, undo: () => Promise<void>) => void;

/**
 * Runs the steps of `story`. When one fails or is cancelled, runs all registered compensations, newest first, shielded
 * from cancellation, then rethrows the first error. Register a compensation before its step, to cover a step that
 * failed after its effect. Compensations must have succeeded when they return: see `retryUntilDone`.
 * @param beforeUndo runs before the first compensation, shielded too. `@default` none
 */
export async function saga<T>(
  story: (undo: Undo) => Promise<T>,
  beforeUndo: (cause: unknown) => Promise<void> = async () => {},
): Promise<T> {
  const undos: { step: string; undo: () => Promise<void> }[] = [];
  try {
    return await story((step, undo) => void undos.push({ step, undo }));
  } catch (cause) {
    await CancellationScope.nonCancellable(async () => {
      await beforeUndo(cause);
      for (const { step, undo } of undos.toReversed()) {
        log.info('undo', { step });
        await undo();
      }
    });
    throw cause;
  }
}
