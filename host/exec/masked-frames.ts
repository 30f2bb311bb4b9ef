import { MayflyError } from '../../model/errors.ts';
import type { CommandExit, CommandRecord, OutputStream } from '../../model/sandbox/command.ts';
import type { OutputFrame } from '../../model/sandbox/output-frame.ts';
import { Mask, type MaskStream } from '../../model/secrets/mask.ts';
import type { OutputPosition } from '../../store/commands/output.ts';
import type { Store } from '../../store/connect.ts';

/** State of one stream: next offset from the guest, offset of the masked output, and time of the last frame. */
interface Masked {
  readonly mask: MaskStream;
  next: number;
  offset: number;
  atMs: number;
}

/**
 * Masks secrets in the output of one command, from its first byte. Deterministic: a resumed run writes the same bytes
 * at the same offsets.
 */
export class MaskedFrames {
  readonly #streams: Record<OutputStream, Masked>;

  constructor(mask: Mask) {
    const fresh = (): Masked => ({ mask: mask.stream(), next: 0, offset: 0, atMs: 0 });
    this.#streams = { stdout: fresh(), stderr: fresh() };
  }

  /** Bytes received from the guest. */
  get taken(): OutputPosition {
    return { stdout: this.#streams.stdout.next, stderr: this.#streams.stderr.next };
  }

  /** Returns the output that is safe to show after this frame; null: none yet. @throws MayflyError guest_failed */
  push(frame: OutputFrame): OutputFrame | null {
    const masked = this.#streams[frame.stream];
    if (frame.offset !== masked.next) {
      const why = `The guest sent ${frame.stream} from byte ${frame.offset} on, where byte ${masked.next} was to come.`;
      throw new MayflyError('guest_failed', why);
    }
    masked.next += frame.bytes.length;
    masked.atMs = frame.atMs;
    return this.#toFrame(frame.stream, masked.mask.push(frame.bytes));
  }

  /** Flushes output buffered as a possible secret; nothing for a cut stream whose stored output reaches further. */
  end(kept: OutputPosition | null, exit: CommandExit | null): OutputFrame[] {
    return (['stdout', 'stderr'] as const).flatMap((stream) => {
      const { mask, offset } = this.#streams[stream];
      const isCut = exit === null || getLostBytes(exit, stream) > 0;
      if (isCut && offset < (kept?.[stream] ?? 0)) return [];
      return this.#toFrame(stream, mask.end({ isCut })) ?? [];
    });
  }

  #toFrame(stream: OutputStream, bytes: Uint8Array): OutputFrame | null {
    const masked = this.#streams[stream];
    if (bytes.length === 0) return null;
    const { offset, atMs } = masked;
    masked.offset += bytes.length;
    return { stream, atMs, offset, bytes };
  }
}

/** Returns the bytes that the guest dropped. */
export function getLostBytes(exit: CommandExit | null, stream: OutputStream): number {
  return exit ? Math.max(0, exit[stream].bytes - exit[stream].kept) : 0;
}

/** @throws MayflyError internal when the secrets are missing: output must not be stored unmasked */
export async function maskOf({ id, spec }: CommandRecord, secrets: Store['attemptSecrets']): Promise<Mask> {
  const given = spec.isMasked ? await secrets.get(id) : [];
  if (given) return new Mask(given.map(({ value }) => value));
  throw new MayflyError('internal', `The secrets of ${id} are not in the store any more, so its output is not kept.`);
}

export function withoutSecrets(error: unknown, mask: Mask): unknown {
  if (!(error instanceof MayflyError)) return error;
  return new MayflyError(error.code, mask.text(error.message), error.options);
}
