import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { MayflyApiError, MayflyConnectionError } from '../../clients/typescript/http/problem.ts';
import type { Commands } from '../../clients/typescript/sandbox/commands.ts';
import { LIMITS } from '../../model/limits.ts';

/** Backoff before bytes of unknown delivery are sent again, ms. */
const PAUSE_MS = 500;

/** Forwards standard input to a command in order, and closes it at the end. */
export class StdinPump {
  #offset = 0;
  #stopped = false;

  constructor(
    private readonly commands: Commands,
    private readonly sandboxId: string,
    private readonly commandId: string,
    private readonly input: Readable,
  ) {}

  /** @param onFailure is called when a failure other than the command's end stops the input */
  start(onFailure: (error: unknown) => void): void {
    this.#pump().catch(onFailure);
  }

  /** Stops after the command's end; the unread rest of standard input is dropped. */
  stop(): void {
    this.#stopped = true;
    this.input.destroy();
  }

  async #pump(): Promise<void> {
    try {
      for await (const chunk of this.input) {
        const bytes = chunk as Uint8Array;
        for (let at = 0; at < bytes.length; at += LIMITS.command.stdinBytes) {
          await this.#send(bytes.subarray(at, at + LIMITS.command.stdinBytes));
        }
      }
      await this.#send(new Uint8Array(), true);
    } catch (error) {
      // A command may end, or close its input, before it has read everything: its exit code is the result.
      const isOver = error instanceof MayflyApiError && ['command_ended', 'stdin_conflict'].includes(error.code);
      if (this.#stopped || isOver) return;
      throw error;
    }
  }

  /** Sends until all bytes are accepted. A lost answer, or a slow command, leaves the accepted number unknown. */
  async #send(bytes: Uint8Array, close = false): Promise<void> {
    const begin = this.#offset;
    let isLost = false;
    for (let isTaken = false; !isTaken; ) {
      const options = { offset: this.#offset, close };
      const rest = bytes.subarray(this.#offset - begin);
      try {
        this.#offset = (await this.commands.writeStdin(this.sandboxId, this.commandId, rest, options)).offset;
        isTaken = true;
      } catch (error) {
        const place = parseOffset(error);
        const isAhead = place !== null && place > this.#offset && place <= begin + bytes.length;
        if (isLost && isAhead) {
          this.#offset = place;
          isTaken = place === begin + bytes.length;
        } else if (this.#stopped || !isTransient(error)) throw error;
        else {
          isLost = true;
          await sleep(PAUSE_MS, undefined, { ref: false });
        }
      }
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof MayflyConnectionError || (error instanceof MayflyApiError && error.retryable);
}

/** Returns the offset of standard input in a `stdin_conflict`. */
function parseOffset(error: unknown): number | null {
  if (!(error instanceof MayflyApiError) || error.code !== 'stdin_conflict') return null;
  const place = /^Standard input is at (\d+),/.exec(error.problem.detail ?? '')?.[1];
  return place === undefined ? null : Number(place);
}
