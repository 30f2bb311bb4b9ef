import { Mayfly } from '../../../../clients/typescript/package/mayfly.ts';
import type { Sandbox } from '../../../../clients/typescript/package/sandbox.ts';

export const SOURCE = 'golden-debian12';

interface Seen {
  seen: { line: string; key: string | null; body: number }[];
  open: number;
}

/** Client of the real API through a faulty network, and a shared sandbox. */
export class Stage {
  readonly mayfly: Mayfly;
  #shared: Promise<Sandbox> | null = null;

  constructor(
    readonly url: string,
    readonly apiKey: string,
  ) {
    this.mayfly = new Mayfly({ baseUrl: url, apiKey });
  }

  /** Returns the sandbox of scenarios that end none; created once. */
  shared(): Promise<Sandbox> {
    this.#shared ??= this.mayfly.create({ source: SOURCE });
    return this.#shared;
  }

  /** Sets the fault of later requests; none without an argument. */
  async network(fault?: { match: string; does: string; times?: number; after?: number }): Promise<void> {
    await fetch(`${this.url}/_network`, { method: 'PUT', ...(fault && { body: JSON.stringify(fault) }) });
  }

  async seen(): Promise<Seen> {
    return (await (await fetch(`${this.url}/_network`)).json()) as Seen;
  }

  async isAlive(id: string): Promise<boolean> {
    for await (const sandbox of this.mayfly.sandboxes({ alive: true })) if (sandbox.id === id) return true;
    return false;
  }

  async living(): Promise<string[]> {
    const ids: string[] = [];
    for await (const { id } of this.mayfly.sandboxes({ alive: true })) ids.push(id);
    return ids;
  }

  async end(): Promise<void> {
    await this.network();
    await Promise.all((await this.living()).map((id) => this.mayfly.destroySandbox(id)));
  }
}

export type Scenario = (stage: Stage) => Promise<void>;
