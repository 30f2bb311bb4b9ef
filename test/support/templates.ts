import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { templateIdsOf } from '../../activities/template/template-record.ts';
import type { TemplateUse } from '../../host/templates.ts';
import { deriveSourceId, ID_BYTES, snapshotIdFrom } from '../../model/ids.ts';
import { isFinal } from '../../model/sandbox/sandbox-state.ts';
import {
  TEMPLATE_STATES,
  type TemplateRecord,
  type TemplateState,
  type TemplateSubject,
} from '../../model/templates/template.ts';
import {
  CHECK_TEMPLATE,
  type TemplateIds,
  type TemplateInput,
  type TemplateTimes,
  templateWorkflowId,
} from '../../model/templates/template-saga.ts';
import { ControlTemporalClient } from '../../temporal/reconciliation.ts';
import { eventually } from './eventually.ts';
import { GOLDEN, type InMemoryMachine } from './in-memory-host/machine.ts';
import type { MayflyCase } from './mayfly-case.ts';
import { reconcileOnce } from './reconcile-once.ts';
import { stepBegun } from './step-begun.ts';
import { TEST_TIMEOUTS } from './test-timeouts.ts';

/** Template timings without automatic rounds. */
const TIMES = {
  quietMs: 0,
  quietLookMs: 50,
  lookMs: 3_600_000,
  firstRetryMs: 50,
  longestRetryMs: 400,
  rememberedMs: 0,
};
let nextMib = 64;

/** Templates of one test, of its own machine size. */
export class TestTemplates {
  readonly size = { memoryMib: nextMib++ };
  readonly subject = { project: 'default', source: GOLDEN, cpus: null, ...this.size };
  readonly #inputs: TemplateInput[] = [];
  readonly #made = new Set<string>();

  constructor(
    private readonly mayfly: MayflyCase,
    private readonly memory: InMemoryMachine,
  ) {}

  async input(times: Partial<TemplateTimes> = {}, source = GOLDEN): Promise<TemplateInput> {
    return this.#inputOf({ ...this.subject, source }, times);
  }

  async #inputOf(subject: TemplateSubject, times: Partial<TemplateTimes> = {}): Promise<TemplateInput> {
    const { hostId, installationId } = this.mayfly.hostRef;
    const templateKey = await this.mayfly.templateKey(subject);
    const actor = { apiKeyId: 'test', agentId: null, project: 'default' };
    const of = { ...subject, hostId, installationId, templateKey, actor };
    const input = { ...of, times: { ...TIMES, ...times }, timeouts: TEST_TIMEOUTS };
    this.#inputs.push(input);
    return input;
  }

  /** Adds a source for this test alone. @returns its name */
  ownSource(): string {
    const name = `golden-${this.size.memoryMib}`;
    this.memory.images.set(name, { files: new Map(), isRunning: false, baked: null });
    return name;
  }

  changeSource(name: string): void {
    this.memory.images.set(name, { files: new Map([['new', 'content']]), isRunning: false, baked: null });
  }

  /** Returns the ids of a template to build. */
  ids(templateId = snapshotIdFrom(randomBytes(ID_BYTES))): TemplateIds {
    const ids = templateIdsOf(templateId);
    this.#made.add(ids.templateId);
    for (const id of [ids.builderId, ...ids.probeIds]) this.mayfly.own(id);
    return ids;
  }

  async want(input: TemplateInput, templateId?: string): Promise<void> {
    const { installationId } = input;
    const wish = { installationId, ...(templateId !== undefined && { templateId }) };
    await new ControlTemporalClient(this.mayfly.client).templates.want(input, wish);
  }

  async remove(input: TemplateInput, templateId: string): Promise<void> {
    await this.mayfly.sagas.templates.remove(input, templateId);
  }

  /** Runs one round of the reconciler, which restarts missing workflows. */
  async reconcile(): Promise<void> {
    await reconcileOnce(this.mayfly.client);
  }

  async look(input: TemplateInput): Promise<void> {
    await this.#workflow(input).signal(CHECK_TEMPLATE);
  }

  /** Changes the template's use as reported by its host. */
  change(templateId: string, changes: Partial<TemplateUse>): void {
    for (const template of this.memory.templates.values()) {
      if (template.templateId === templateId) template.use = { ...template.use, ...changes };
    }
  }

  /** Returns the record once it is in one of these states. */
  until(templateId: string, ...states: TemplateState[]): Promise<TemplateRecord> {
    return eventually(
      () => this.mayfly.store.templates.get(templateId),
      (record): record is TemplateRecord => record !== null && states.includes(record.state),
    );
  }

  /** Returns all templates of the key, in any state, newest first. */
  async all({ templateKey }: TemplateInput): Promise<TemplateRecord[]> {
    return (await this.mayfly.store.templates.all(TEMPLATE_STATES)).filter(({ key }) => key === templateKey);
  }

  /** Returns the id of a template requested by a sandbox, once its build has started. */
  async begun(input: TemplateInput): Promise<string> {
    const [record] = await eventually(
      () => this.all(input),
      (records) => records.length > 0,
    );
    return this.ids(record?.id).templateId;
  }

  /** Builds a template, and waits until it is ready. */
  async built(input: TemplateInput): Promise<TemplateIds> {
    const ids = this.ids();
    await this.want(input, ids.templateId);
    const record = await this.until(ids.templateId, 'ready', 'failed');
    expect(record).toMatchObject({ state: 'ready', reason: null });
    return ids;
  }

  /** Resolves when the host runs that step of the key's workflow. */
  async at(input: TemplateInput, step: string): Promise<void> {
    await stepBegun(this.#workflow(input), step);
  }

  /** Resolves when the workflow has polled for some time, by the length of its history. */
  async looksOften(input: TemplateInput): Promise<void> {
    await eventually(
      () => this.#workflow(input).describe(),
      ({ historyLength }) => historyLength > 40,
    );
  }

  /** Resolves when the workflow of the key has ended. */
  async over(input: TemplateInput): Promise<void> {
    await this.#workflow(input).result();
  }

  /** Lists its remains on the host: memory, index entry, builder, probes. */
  async left({ templateId, builderId, probeIds }: TemplateIds): Promise<string[]> {
    const { snapshots, templates, workspaces, domains } = this.memory;
    const left: string[] = [];
    if (snapshots.has(templateId)) left.push('memory');
    if ([...templates.values()].some((one) => one.templateId === templateId)) left.push('index');
    for (const id of [builderId, ...probeIds]) {
      const record = await this.mayfly.store.sandboxes.get(id);
      if (record && !isFinal(record.state)) left.push(`${id} is ${record.state}`);
      if (workspaces.has(id) || domains.has(id)) left.push(`${id} on its host`);
    }
    return left;
  }

  /** Returns the kinds of the source's audit entries about this test's templates, in order. */
  async told(): Promise<string[]> {
    const { hostId } = this.mayfly.hostRef;
    const entries = await this.mayfly.store.audit.entries(deriveSourceId(hostId, GOLDEN), { limit: 1_000 });
    const bodies = entries.map(({ body }) => JSON.parse(body) as { kind: string; detail: { templateId?: string } });
    return bodies.filter(({ detail }) => this.#made.has(detail.templateId ?? '')).map(({ kind }) => kind);
  }

  /** Registers a template requested by a sandbox for the final clean-up. */
  async forget(subject: TemplateSubject): Promise<void> {
    await this.begun(await this.#inputOf(subject));
  }

  /** Removes the templates of every key, and ends its workflow. */
  async clear(): Promise<void> {
    for (const input of this.#inputs) {
      for (const { id, state } of await this.all(input)) {
        if (state === 'gone') continue;
        await this.remove(input, id);
        await this.until(id, 'gone');
        expect(await this.left(templateIdsOf(id))).toEqual([]);
      }
      await this.#workflow(input)
        .terminate('the test is over')
        .catch(() => undefined);
    }
  }

  #workflow(input: TemplateInput) {
    return this.mayfly.client.workflow.getHandle(templateWorkflowId(input));
  }
}
