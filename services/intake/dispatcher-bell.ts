import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Sagas } from '../../temporal/temporal-sagas.ts';

/** Between two tellings of one dispatcher. Milliseconds. */
const PAUSE_MS = 250;

interface FunctionRef {
  project: string;
  name: string;
}

/**
 * Tells dispatchers that something was queued, each at once and then not again for a moment: what comes meanwhile is told of
 * together, afterwards, and a thousand events cost Temporal a few tasks. Nobody waits for it, and nothing is lost with it, since they look by themselves too.
 */
export class DispatcherBell {
  /** Those that are being told; true: once more. */
  readonly #ringing = new Map<string, boolean>();

  constructor(
    private readonly sagas: Pick<Sagas, 'functions'>,
    private readonly logger: Logger,
  ) {}

  ring(ref: FunctionRef): void {
    const id = `${ref.project}/${ref.name}`;
    if (this.#ringing.has(id)) {
      this.#ringing.set(id, true);
      return;
    }
    void this.#tell(id, ref);
  }

  async #tell(id: string, ref: FunctionRef): Promise<void> {
    do {
      this.#ringing.set(id, false);
      try {
        await this.sagas.functions.wakeDispatcher(ref);
      } catch (error) {
        this.logger.info({ err: error, ...ref }, 'a dispatcher was not told, and looks by itself');
        break;
      }
      await sleep(PAUSE_MS, undefined, { ref: false });
    } while (this.#ringing.get(id));
    this.#ringing.delete(id);
  }
}
