import type { CaptureRequest, HostCaptures, PresentCapture } from '../../../host/captures.ts';
import type { Failpoints } from '../../../host/failpoints.ts';
import type { StepContext } from '../../../host/step-context.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { SavedCapture } from '../../../model/snapshots/capture.ts';
import { describeDisk, type Files, type Image, type InMemoryMachine, type StoredCapture, sizeOf } from './machine.ts';

/** Captures of a machine in memory: copies, so that references don't exist. */
export class InMemoryCaptures implements HostCaptures {
  constructor(
    private readonly machine: InMemoryMachine,
    private readonly failpoints: Failpoints,
  ) {}

  async sizeOf(source: string): Promise<number> {
    return sizeOf(this.#running(source).files);
  }

  /** Leaves the source frozen on failure, like a worker that is killed midway. */
  async begin({ captureId, source }: CaptureRequest, { signal }: StepContext): Promise<void> {
    signal.throwIfAborted();
    const { captures, frozen } = this.machine;
    if (captures.get(captureId)?.capturedAt) return this.thaw(captureId);
    const { files } = this.#running(source);
    frozen.add(source);
    const half = { source, files, capturedAt: null, isChecked: false, isKept: false };
    captures.set(captureId, half);
    const capturedAt = new Date().toISOString();
    await this.failpoints.hit('beginCapture', 'during', captureId, signal);
    frozen.delete(source);
    captures.set(captureId, { ...half, capturedAt });
  }

  async thaw(captureId: string): Promise<void> {
    const capture = this.machine.captures.get(captureId);
    if (capture) this.machine.frozen.delete(capture.source);
  }

  async wait(captureId: string, { signal }: StepContext): Promise<void> {
    await this.failpoints.hit('awaitCapture', 'during', captureId, signal);
  }

  async verify(captureId: string, { signal }: StepContext): Promise<SavedCapture> {
    signal.throwIfAborted();
    const capture = this.machine.captures.get(captureId);
    if (!capture?.capturedAt) throw new MayflyError('capture_failed', `${captureId} is not copied on this host.`);
    await this.failpoints.hit('verifyCapture', 'during', captureId, signal);
    capture.isChecked = true;
    const disk = describeDisk(capture.files);
    return {
      disks: [disk],
      sizeBytes: disk.storedBytes,
      quiesced: true,
      capturedAt: capture.capturedAt,
      parentId: null,
      fullBecause: 'a machine in memory copies disks as a whole',
    };
  }

  async keep(captureId: string): Promise<void> {
    const capture = this.machine.captures.get(captureId);
    if (!capture?.isChecked) {
      throw new MayflyError('capture_failed', `${captureId} has not been checked on this host.`);
    }
    capture.isKept = true;
  }

  async abort(): Promise<void> {} // copying ends with its step

  async remove(captureId: string): Promise<void> {
    await this.thaw(captureId);
    const capture = this.machine.captures.get(captureId);
    if (capture) capture.isKept = false;
    await this.failpoints.hit('removeCapture', 'during', captureId);
    this.machine.captures.delete(captureId);
  }

  async list(): Promise<PresentCapture[]> {
    return [...this.machine.captures].map(([captureId, { isKept }]) => ({
      captureId,
      state: isKept ? 'whole' : 'half',
    }));
  }

  /** Returns the files of a clone. @throws MayflyError capture_not_found */
  filesOf(captureId: string): Files {
    const capture: StoredCapture | undefined = this.machine.captures.get(captureId);
    if (capture?.isKept) return capture.files;
    throw new MayflyError('capture_not_found', `${captureId} is not on this host, or only half of it is.`);
  }

  #running(source: string): Image {
    const image = this.machine.images.get(source);
    if (!image) throw new MayflyError('source_not_found', `There is no source ${source}.`);
    if (!image.isRunning) throw new MayflyError('source_not_running', `${source} does not run.`);
    return image;
  }
}
