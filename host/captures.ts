import type { SavedCapture } from '../model/snapshots/capture.ts';
import type { StepContext } from './step-context.ts';

export interface CaptureRequest {
  captureId: string;
  /** Name on the machine. */
  source: string;
}

export interface PresentCapture {
  captureId: string;
  /** `half`: without its final name yet, or being removed. */
  state: 'whole' | 'half';
}

/**
 * Captures of one machine: copies of running sources, taken while they run. As with {@link Hypervisor}, every method
 * that changes something is idempotent, and removing an absent thing succeeds.
 */
export interface HostCaptures {
  /** Returns the largest size of a capture now, bytes. @throws MayflyError source_not_found, source_not_running */
  sizeOf(source: string): Promise<number>;
  /**
   * Starts a copy at one moment: file systems are frozen for it where the guest can, and only changes since the newest
   * capture are copied where possible. @throws MayflyError source_not_found, source_not_running, source_unsafe,
   * capture_failed
   */
  begin(request: CaptureRequest, context: StepContext): Promise<void>;
  /** Ends a freeze that {@link begin} left behind. No-op without a freeze or a source. */
  thaw(captureId: string): Promise<void>;
  /** Resolves when the copy is complete. @throws MayflyError capture_failed */
  wait(captureId: string, context: StepContext): Promise<void>;
  /** Checks the copy, and makes it read-only. @throws MayflyError capture_failed */
  verify(captureId: string, context: StepContext): Promise<SavedCapture>;
  /** Gives a checked copy its final name. @throws MayflyError capture_failed */
  keep(captureId: string): Promise<void>;
  abort(captureId: string): Promise<void>;
  /** Removes a capture, complete or partial, with its checkpoint in the source. @throws MayflyError capture_in_use */
  remove(captureId: string): Promise<void>;
  list(): Promise<PresentCapture[]>;
}
