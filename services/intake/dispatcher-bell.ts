import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Sagas } from '../../temporal/temporal-sagas.ts';

/** Interval between two signals to one dispatcher, ms. */
const PAUSE_MS = 250;

interface FunctionRef {
  project: string;
  name: string;
}

/**
 * Signals dispatchers that runs are queued: at once, then once for all that come within the interval. A lost signal loses
 * no run, since dispatchers poll too.
 */
export class DispatcherBell {
  /** Dispatchers that are being signalled; true: once more. */
  readonly #notifying = new Map<string, boolean>();

  constructor(
    private readonly sagas: Pick<Sagas, 'functions'>,
    private readonly logger: Logger,
  ) {}

  ring(ref: FunctionRef): void {
    const id = `${ref.project}/${ref.name}`;
    if (this.#notifying.has(id)) {
      this.#notifying.set(id, true);
      return;
    }
    void this.#notify(id, ref);
  }

  async #notify(id: string, ref: FunctionRef): Promise<void> {
    do {
      this.#notifying.set(id, false);
      try {
        await this.sagas.functions.wakeDispatcher(ref);
      } catch (error) {
        this.logger.info({ err: error, ...ref }, 'a dispatcher was not signalled, and polls by itself');
        break;
      }
      await sleep(PAUSE_MS, undefined, { ref: false });
    } while (this.#notifying.get(id));
    this.#notifying.delete(id);
  }
}
