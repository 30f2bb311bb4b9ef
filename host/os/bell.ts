import { once } from 'node:events';

/** Something may have happened, and who waits is to look. Rings that come while it looks are one more look, not many. */
export class Bell {
  #isRung = false;
  readonly #target = new EventTarget();

  ring(): void {
    this.#isRung = true;
    this.#target.dispatchEvent(new Event('ring'));
  }

  /** For one listener. Ends when the signal is aborted. */
  async *rings(signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      if (!this.#isRung) await once(this.#target, 'ring', { signal }).catch(() => undefined); // the abort ends the loop
      if (signal.aborted) return;
      this.#isRung = false;
      yield;
    }
  }
}
