import { expect } from 'vitest';
import type { KeptSnapshot } from '../../host/snapshots.ts';
import type { TemplateRequest } from '../../host/templates.ts';
import type { HostProposals } from '../../model/host.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import type { SandboxRecord, SandboxSpec } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { SignedEvent } from '../../model/sandbox/signed-request.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import type { TestMayfly } from './mayfly.ts';

/** {@link TestMayfly} as one of several concurrent tests sees it: ends its own sandboxes and faults, and proves that nothing is left. */
export class MayflyCase {
  readonly #ids = new Set<string>();
  readonly #armed = new Set<string>();

  /** @param title of the test, for whoever reads what it left */
  constructor(
    private readonly all: TestMayfly,
    private readonly title: string,
  ) {}

  get store() {
    return this.all.store;
  }
  get sagas() {
    return this.all.sagas;
  }
  get client() {
    return this.all.client;
  }
  get config() {
    return this.all.config;
  }
  get host() {
    return this.all.host;
  }
  get memory() {
    return this.all.memory;
  }

  /** @param timeouts what differs from the tests' own */
  input(spec: Partial<SandboxSpec> = {}, timeouts: Partial<Timeouts> = {}): SandboxInput {
    const input = this.all.input(spec, timeouts);
    this.own(input.id);
    return input;
  }

  /** Its host, as records name it. */
  get hostRef(): { hostId: string; installationId: string } {
    const { hostId, installationId } = this.all.machine().observer;
    return { hostId, installationId };
  }

  /** As its host calls a template of that machine. @throws Error where it makes none */
  async templateKey(request: TemplateRequest): Promise<string> {
    const context = { signal: new AbortController().signal, alive: () => undefined };
    const key = await this.all.machine().hypervisor.templates.keyOf(request, context);
    if (key === null) throw new Error('that host makes no templates');
    return key;
  }

  /** As the API proposes its host. */
  proposals(): HostProposals {
    return { hosts: [this.hostRef] };
  }

  /** A sandbox that somebody else makes for this test, as a bake does. */
  own(sandboxId: string): void {
    this.#ids.add(sandboxId);
  }

  /** Sets the faults that strike at steps about one id; undefined: none any more. Others are not touched. */
  arm(text: string | undefined, id: string): void {
    this.#armed.add(id);
    this.all.failpoints.arm(text, id);
  }

  /** As the API has an event recorded. */
  signed(sandboxId: string, event: AuditEvent): SignedEvent {
    const signer = this.all.requestKey.signer({ process: 'api' });
    return { ...event, signature: signer.sign('event', { sandboxId, event }) };
  }

  /** Starts a create and waits until it is running or at its end. */
  create(input = this.input()): Promise<SandboxRecord> {
    this.own(input.id);
    return this.all.create(input);
  }

  /** Creates a sandbox, and asserts that it runs. @returns the input of its saga */
  async createRunning(spec: Partial<SandboxSpec> = {}): Promise<SandboxInput> {
    const input = this.input(spec);
    expect(await this.create(input)).toMatchObject({ state: 'running' });
    return input;
  }

  /** By its id, or by what it was asked for with. */
  destroy(wanted: string | SandboxInput): Promise<SandboxRecord> {
    return this.all.destroy(typeof wanted === 'string' ? { ...this.all.input(), id: wanted } : wanted);
  }

  end(id: string): Promise<SandboxRecord> {
    return this.all.end(id);
  }

  record(id: string): Promise<SandboxRecord> {
    return this.all.record(id);
  }

  until(id: string, wish: (record: SandboxRecord) => boolean): Promise<SandboxRecord> {
    return this.all.until(id, wish);
  }

  startHost(bootIdFile?: string): Promise<unknown> {
    return this.all.startHost(bootIdFile);
  }

  /** The snapshots on the host that were taken of the test's sandboxes. */
  async onHost(): Promise<KeptSnapshot[]> {
    const kept = await this.all.machine().hypervisor.snapshots.list();
    const own = await Promise.all(
      kept.map(async ({ snapshotId }) => this.#ids.has((await this.store.snapshots.get(snapshotId))?.sandboxId ?? '')),
    );
    return kept.filter((_, nth) => own[nth]);
  }

  /** What is on the machine under the name of a sandbox of this test. */
  async residue(): Promise<Observation[]> {
    const marks = await this.all.marks();
    return marks.filter(({ sandboxId }) => this.#ids.has(sandboxId)).map(({ observation }) => observation);
  }

  /** Lifts its faults. */
  disarm(): void {
    for (const id of this.#armed) this.all.failpoints.arm(undefined, id);
  }

  /** Lifts its faults, ends its sandboxes, and proves that nothing of them is left. */
  async close(): Promise<void> {
    this.disarm();
    if (!this.all.host) await this.all.startHost();
    for (const id of this.#ids) {
      const record = await this.store.sandboxes.get(id);
      if (record && !isFinal(record.state)) await this.destroy(id);
    }
    expect({ of: this.title, left: await this.residue() }).toEqual({ of: this.title, left: [] });
  }
}
