import { MayflyError } from '../../model/errors.ts';
import type { OutputStream } from '../../model/sandbox/command.ts';
import type { OutputFrame } from '../../model/sandbox/output-frame.ts';
import type { Mask, MaskStream } from '../../model/secrets/mask.ts';
import type { OutputPlace } from '../../store/commands/output.ts';

/** One stream: where the guest is in it, where what comes out is, and when the last of it came. */
interface Masked {
  readonly mask: MaskStream;
  next: number;
  offset: number;
  atMs: number;
}

/**
 * Takes secrets from the output of one command, from its first byte on: the same frames come out each time, so whoever goes on
 * writes the same bytes at the same places.
 */
export class MaskedFrames {
  readonly #streams: Record<OutputStream, Masked>;

  constructor(mask: Mask) {
    const fresh = (): Masked => ({ mask: mask.stream(), next: 0, offset: 0, atMs: 0 });
    this.#streams = { stdout: fresh(), stderr: fresh() };
  }

  /** How much the guest has sent. */
  get taken(): OutputPlace {
    return { stdout: this.#streams.stdout.next, stderr: this.#streams.stderr.next };
  }

  /** What can be shown now, of this frame and those before it; null: nothing. @throws MayflyError guest_failed */
  push(frame: OutputFrame): OutputFrame | null {
    const masked = this.#streams[frame.stream];
    if (frame.offset !== masked.next) {
      const why = `The guest sent ${frame.stream} from byte ${frame.offset} on, where byte ${masked.next} was to come.`;
      throw new MayflyError('guest_failed', why);
    }
    masked.next += frame.bytes.length;
    masked.atMs = frame.atMs;
    return this.#shown(frame.stream, masked.mask.push(frame.bytes));
  }

  /**
   * What was held back.
   * @param kept how much of what comes out is written: of a stream that is not there again nothing is added
   * @param isCut there was more, or may have been
   */
  end(kept: OutputPlace, isCut: (stream: OutputStream) => boolean): OutputFrame[] {
    return (['stdout', 'stderr'] as const).flatMap((stream) => {
      const { mask, offset } = this.#streams[stream];
      if (isCut(stream) && offset < kept[stream]) return [];
      return this.#shown(stream, mask.end({ isCut: isCut(stream) })) ?? [];
    });
  }

  #shown(stream: OutputStream, bytes: Uint8Array): OutputFrame | null {
    const masked = this.#streams[stream];
    if (bytes.length === 0) return null;
    const { offset, atMs } = masked;
    masked.offset += bytes.length;
    return { stream, atMs, offset, bytes };
  }
}
