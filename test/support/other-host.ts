import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { InMemoryMachine } from './in-memory-host/machine.ts';
import type { TestMayfly } from './mayfly.ts';
import type { HostPart } from './test-host.ts';

/** Second machine, whose worker can be started and stopped. */
export class OtherHost {
  readonly #memory = new InMemoryMachine();
  #running: HostPart | null = null;

  private constructor(
    private readonly mayfly: TestMayfly,
    readonly hostId: string,
    readonly stateDir: string,
  ) {}

  static async start(mayfly: TestMayfly, hostId: string): Promise<OtherHost> {
    const stateDir = await mkdtemp(join(mayfly.config.stateDir, 'other-'));
    const host = new OtherHost(mayfly, hostId, stateDir);
    onTestFinished(async () => {
      await host.stop();
      await rm(stateDir, { recursive: true, force: true });
    });
    await host.start();
    return host;
  }

  async start(): Promise<void> {
    this.#running = await this.mayfly.startOtherHost(this, this.#memory);
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await running?.stop();
  }

  get installationId(): string {
    if (!this.#running) throw new Error('its worker does not run');
    return this.#running.machine.installation.id;
  }

  /** Changes the content of a source. */
  write(source: string, name: string, content: string): void {
    const image = this.#memory.images.get(source);
    if (image) this.#memory.images.set(source, { ...image, files: new Map(image.files).set(name, content) });
  }

  reservations(): Promise<string[]> {
    return readdir(join(this.stateDir, 'reservations'));
  }
}
