import { once } from 'node:events';

/** Notifier of one listener. Notifications during its work are merged into one. */
export class Bell {
  #isRung = false;
  readonly #target = new EventTarget();

  ring(): void {
    this.#isRung = true;
    this.#target.dispatchEvent(new Event('ring'));
  }

  /** Yields after notifications, for one listener. Ends when the signal is aborted. */
  async *rings(signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      if (!this.#isRung) await once(this.#target, 'ring', { signal }).catch(() => undefined); // the abort ends the loop
      if (signal.aborted) return;
      this.#isRung = false;
      yield;
    }
  }
}
