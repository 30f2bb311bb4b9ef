import { CancellationScope, log } from '@temporalio/workflow';

/** Registers the undo of the step that follows. From then on it runs whenever the story fails: nobody can withdraw it. */
export type Undo = (step: string, undo: () => Promise<void>) => void;

/**
 * Runs the steps of `story`. When one fails or is cancelled, every undo that was registered runs, newest first,
 * shielded from cancellation; then the first error is thrown on. An undo is registered before its step, so it also
 * covers a step that failed after its effect. Undos must hold when they return: see `retryUntilDone`.
 * @param beforeUndo runs before the first undo, shielded too. `@default` nothing
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
