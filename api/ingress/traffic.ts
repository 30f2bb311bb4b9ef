import { MayflyError } from '../../model/errors.ts';
import { LIMITS } from '../../model/limits.ts';
import { labelOf, type PortTarget } from '../../model/ports/port-address.ts';
import type { KnownPorts } from './known-ports.ts';

/** How often it is looked whether what goes through a port may go on: all is to be over in a second. Milliseconds. */
const LOOK_MS = 400;
const PER_MS = LIMITS.ports.requestsPerSecond / 1_000;

/** One request, or one connection that it has become. */
export interface Passing {
  target: PortTarget;
  /** Of the port: with another one, what was let in by a token is let in no more. Null: it was let in by a key. */
  secret: string | null;
  /** Milliseconds since 1970; null: never. */
  expiresAt: number | null;
  end(why: Error): void;
}

/** What goes through the ports of all sandboxes by this process: how much, and for how long. */
export class Traffic {
  readonly #passing = new Map<string, Set<Passing>>();
  readonly #rooms = new Map<string, { left: number; at: number }>();
  #look: NodeJS.Timeout | null = null;

  constructor(private readonly known: KnownPorts) {}

  /** @throws MayflyError too_many_requests */
  count(target: PortTarget): void {
    const name = labelOf(target);
    const now = performance.now();
    const most = LIMITS.ports.requestsPerSecond;
    const before = this.#rooms.get(name) ?? { left: most, at: now };
    const left = Math.min(most, before.left + (now - before.at) * PER_MS);
    if (left < 1) {
      const why = `More than ${most} requests a second are asked of ${name}.`;
      throw new MayflyError('too_many_requests', why, { retryAfterSeconds: 1 });
    }
    this.#rooms.set(name, { left: left - 1, at: now });
    this.#begin();
  }

  /** Ends it when it may go on no more. @returns to be called when it is over */
  add(passing: Passing): () => void {
    const name = labelOf(passing.target);
    const others = this.#passing.get(name) ?? new Set();
    this.#passing.set(name, others.add(passing));
    this.#begin();
    return () => {
      others.delete(passing);
      if (others.size === 0 && this.#passing.get(name) === others) this.#passing.delete(name);
    };
  }

  /** Ends all. */
  close(): void {
    if (this.#look) clearInterval(this.#look);
    this.#look = null;
    for (const passing of [...this.#passing.values()].flatMap((all) => [...all])) {
      passing.end(new Error('the process stops'));
    }
  }

  #begin(): void {
    this.#look ??= setInterval(() => this.#lookAtAll(), LOOK_MS).unref();
  }

  #lookAtAll(): void {
    const now = performance.now();
    for (const [name, { left, at }] of this.#rooms) {
      if (left + (now - at) * PER_MS >= LIMITS.ports.requestsPerSecond) this.#rooms.delete(name);
    }
    for (const all of this.#passing.values()) void this.#lookAt(all);
    if (this.#passing.size > 0 || this.#rooms.size > 0 || !this.#look) return;
    clearInterval(this.#look);
    this.#look = null;
  }

  async #lookAt(all: ReadonlySet<Passing>): Promise<void> {
    const [first] = all;
    if (!first) return;
    for (const passing of all) {
      if (passing.expiresAt !== null && passing.expiresAt <= Date.now())
        passing.end(new Error('the token has expired'));
    }
    // With the store away what goes through goes on; nothing new is let in.
    const known = await this.known.readNow(first.target).catch(() => undefined);
    if (known === undefined) return;
    for (const passing of all) {
      if (!known) passing.end(new Error('the port was closed'));
      else if (passing.secret !== null && passing.secret !== known.port.secret)
        passing.end(new Error('the token is void'));
    }
  }
}
