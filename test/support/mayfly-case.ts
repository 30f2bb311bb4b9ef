import { expect } from 'vitest';
import type { PresentSnapshot } from '../../host/snapshots.ts';
import type { TemplateRequest } from '../../host/templates.ts';
import type { CandidateHosts } from '../../model/host.ts';
import type { SandboxInput } from '../../model/sagas/messages.ts';
import type { AuditEvent } from '../../model/sandbox/audit.ts';
import type { Observation } from '../../model/sandbox/proof.ts';
import type { SandboxRecord, SandboxSpec } from '../../model/sandbox/sandbox.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import type { SignedEvent } from '../../model/sandbox/signed-request.ts';
import type { Timeouts } from '../../model/sandbox/timeouts.ts';
import type { TestMayfly } from './mayfly.ts';

/**
 * {@link TestMayfly} for one of several concurrent tests: ends its own sandboxes and faults, and proves that no residue
 * is left.
 */
export class MayflyCase {
  readonly #ids = new Set<string>();
  readonly #armed = new Set<string>();

  /** @param title of the test, to identify its residue */
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

  /** @param timeouts changes of the default test timeouts */
  input(spec: Partial<SandboxSpec> = {}, timeouts: Partial<Timeouts> = {}): SandboxInput {
    const input = this.all.input(spec, timeouts);
    this.own(input.id);
    return input;
  }

  /** Reference to its host, as in records. */
  get hostRef(): { hostId: string; installationId: string } {
    const { hostId, installationId } = this.all.machine().observer;
    return { hostId, installationId };
  }

  /** Returns the host's key of a template. @throws Error where the host makes none */
  async templateKey(request: TemplateRequest): Promise<string> {
    const context = { signal: new AbortController().signal, alive: () => undefined };
    const key = await this.all.machine().hypervisor.templates.keyOf(request, context);
    if (key === null) throw new Error('that host makes no templates');
    return key;
  }

  /** Returns its host in the form of the API's proposals. */
  proposals(): CandidateHosts {
    return { hosts: [this.hostRef] };
  }

  /** Registers a sandbox that is created otherwise for this test, for instance by a bake. */
  own(sandboxId: string): void {
    this.#ids.add(sandboxId);
  }

  /** Arms faults for steps about one id; undefined disarms it. Other ids are unaffected. */
  arm(text: string | undefined, id: string): void {
    this.#armed.add(id);
    this.all.failpoints.arm(text, id);
  }

  /** Signs an event as the API does. */
  signed(sandboxId: string, event: AuditEvent): SignedEvent {
    const signer = this.all.requestKey.signer({ process: 'api' });
    return { ...event, signature: signer.sign('event', { sandboxId, event }) };
  }

  /** Starts a create, and waits until it runs or has ended. */
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

  /** Destroys a sandbox, given its id or the input of its create. */
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

  /** Returns snapshots on the host of this test's sandboxes. */
  async onHost(): Promise<PresentSnapshot[]> {
    const kept = await this.all.machine().hypervisor.snapshots.list();
    const own = await Promise.all(
      kept.map(async ({ snapshotId }) => this.#ids.has((await this.store.snapshots.get(snapshotId))?.sandboxId ?? '')),
    );
    return kept.filter((_, nth) => own[nth]);
  }

  /** Returns the residue of this test's sandboxes on the machine. */
  async residue(): Promise<Observation[]> {
    const marks = await this.all.marks();
    return marks.filter(({ sandboxId }) => this.#ids.has(sandboxId)).map(({ observation }) => observation);
  }

  disarm(): void {
    for (const id of this.#armed) this.all.failpoints.arm(undefined, id);
  }

  /** Disarms its faults, destroys its sandboxes, and proves that no residue is left. */
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
