import type { SavedCapture } from '../model/snapshots/capture.ts';
import type { StepContext } from './step-context.ts';

export interface CaptureRequest {
  captureId: string;
  /** As the machine names it. */
  source: string;
}

export interface PresentCapture {
  captureId: string;
  /** `half`: it has not got its final name, or is being removed. */
  state: 'whole' | 'half';
}

/**
 * The captures of one machine: copies of running sources, made while they run. As with {@link Hypervisor}, every method
 * that changes something is an "ensure", and "remove" of what is not there succeeds.
 */
export interface HostCaptures {
  /** The most that a capture of the source can take now, bytes. @throws MayflyError source_not_found, source_not_running */
  sizeOf(source: string): Promise<number>;
  /**
   * The file systems are frozen for that moment where the guest can; only what changed since the newest capture is
   * copied where possible. @throws MayflyError source_not_found, source_not_running, source_unsafe, capture_failed
   */
  begin(request: CaptureRequest, context: StepContext): Promise<void>;
  /** Ends a freeze that {@link begin} left behind; also when there was none, or no source. */
  thaw(captureId: string): Promise<void>;
  /** Resolves when all is copied. @throws MayflyError capture_failed */
  wait(captureId: string, context: StepContext): Promise<void>;
  /** Checks the copy, and makes it read-only. @throws MayflyError capture_failed */
  verify(captureId: string, context: StepContext): Promise<SavedCapture>;
  /** Gives a checked copy its final name. @throws MayflyError capture_failed */
  keep(captureId: string): Promise<void>;
  abort(captureId: string): Promise<void>;
  /** Takes a capture away, also half of one, with what it added to its source. @throws MayflyError capture_in_use */
  remove(captureId: string): Promise<void>;
  list(): Promise<PresentCapture[]>;
}
