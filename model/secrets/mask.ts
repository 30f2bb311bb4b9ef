import { Automaton } from './automaton.ts';
import { Base64Tail, isBase64 } from './base64-edge.ts';
import { listSecretForms } from './secret-forms.ts';

/** Replacement of a secret. */
const MASKED = Buffer.from('***');

interface Span {
  start: number;
  end: number;
}

/** Replaces secrets in all their forms with `***`; docs/secrets.md lists the forms. */
export class Mask {
  readonly #automaton: Automaton;

  /** @param secrets those that maskable.ts excludes are ignored */
  constructor(secrets: readonly string[]) {
    this.#automaton = new Automaton(secrets.flatMap(listSecretForms));
  }

  stream(): MaskStream {
    return new MaskStream(this.#automaton);
  }

  /**
   * @param isCut true when the input is truncated: a possible start of a secret at its end is masked too. `@default`
   * false
   */
  bytes(bytes: Uint8Array, { isCut = false } = {}): Buffer {
    const stream = this.stream();
    return Buffer.concat([stream.push(bytes), stream.end({ isCut })]);
  }

  text(text: string): string {
    return this.bytes(Buffer.from(text)).toString();
  }
}

/** Masks a stream; its output does not depend on how the input is split. */
export class MaskStream {
  readonly #tail = new Base64Tail();
  #state = 0;
  /** Buffered bytes that may belong to a secret, and the offset of the first. */
  #held: Uint8Array = new Uint8Array();
  #from = 0;
  /** Covered ranges, ordered and disjoint. */
  #spans: Span[] = [];
  /** True when the byte before the buffered ones was covered. */
  #isInside = false;

  constructor(private readonly automaton: Automaton) {}

  /** @returns decided output; buffers the rest, which is shorter than the longest form of a secret */
  push(bytes: Uint8Array): Buffer {
    if (bytes.length === 0) return Buffer.alloc(0);
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    for (let at = this.#held.length; at < all.length; at++) this.#read(all, at);
    const beside = isBase64(all.at(-1)) ? 1 : 0; // the next byte may start base64 of a secret
    const safe = this.#from + all.length - Math.max(beside, this.automaton.heldAt(this.#state));
    return this.#release(all, Math.max(safe, this.#from));
  }

  /**
   * Returns the rest.
   * @param isCut true when the input is truncated: a possible start of a secret is masked. `@default` false
   */
  end({ isCut = false } = {}): Buffer {
    const end = this.#from + this.#held.length;
    if (isCut && this.#held.length > 0) this.#cover({ start: this.#from, end });
    return this.#release(this.#held, end);
  }

  /** @param all bytes from `#from` */
  #read(all: Uint8Array, at: number): void {
    const byte = all[at] ?? 0;
    const end = this.#from + at + 1;
    this.#state = this.automaton.next(this.#state, byte);
    if (this.#tail.takes(byte)) this.#cover({ start: end - 1, end });
    const covered = this.automaton.coveredAt(this.#state);
    if (covered === 0) return;
    const withBefore = this.automaton.withBeforeAt(this.#state);
    const isBefore = withBefore > covered && isBase64(all[at + 1 - withBefore]);
    this.#cover({ start: Math.max(this.#from, end - (isBefore ? withBefore : covered)), end });
    if (this.automaton.coversAfter(this.#state)) this.#tail.begin();
  }

  #cover({ start: wanted, end }: Span): void {
    let start = wanted;
    for (let last = this.#spans.at(-1); last && last.end >= start; last = this.#spans.at(-1)) {
      start = Math.min(start, last.start);
      this.#spans.pop();
    }
    this.#spans.push({ start, end });
  }

  /**
   * @param all bytes from `#from`
   * @param safe end of the decided bytes
   */
  #release(all: Uint8Array, safe: number): Buffer {
    const pieces: Uint8Array[] = [];
    const later: Span[] = [];
    let at = this.#from;
    const shown = (end: number) => {
      if (end <= at) return;
      pieces.push(all.subarray(at - this.#from, end - this.#from));
      this.#isInside = false;
      at = end;
    };
    for (const span of this.#spans) {
      if (span.start >= safe) {
        later.push(span);
        continue;
      }
      shown(span.start);
      if (!this.#isInside) pieces.push(MASKED);
      this.#isInside = true;
      at = Math.min(span.end, safe);
      if (span.end > safe) later.push({ start: safe, end: span.end });
    }
    shown(safe);
    this.#held = Uint8Array.from(all.subarray(safe - this.#from));
    this.#from = safe;
    this.#spans = later;
    return Buffer.concat(pieces);
  }
}
