import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { templateIdsOf } from '../../activities/template/template-record.ts';
import { GOLDEN } from '../../host/in-memory/machine.ts';
import { ID_BYTES, snapshotIdFrom, sourceIdOf } from '../../model/ids.ts';
import { isFinal } from '../../model/sandbox/sandbox.ts';
import type { TemplateRecord, TemplateTimes } from '../../model/templates/template.ts';
import { type TemplateIds, type TemplateInput, templateWorkflowIdOf } from '../../model/templates/template-saga.ts';
import { wantTemplate } from '../../sagas/templates.ts';
import { eventually } from './eventually.ts';
import type { MayflyCase } from './mayfly-case.ts';
import { TEST_TIMEOUTS } from './test-timeouts.ts';

/** Nothing comes by itself that a test does not ask for. */
const TIMES = {
  quietMs: 0,
  quietLookMs: 50,
  lookMs: 3_600_000,
  firstRetryMs: 50,
  longestRetryMs: 400,
  rememberedMs: 0,
};

let nextMib = 64;

/** The templates of one test: of a machine of a size that no other test asks for. */
export class TestTemplates {
  readonly subject = { project: 'default', source: GOLDEN, cpus: null, memoryMib: nextMib++ };
  readonly #made = new Set<string>();

  constructor(private readonly mayfly: MayflyCase) {}

  async input(times: Partial<TemplateTimes> = {}): Promise<TemplateInput> {
    const { hostId, installationId } = this.mayfly.hostRef;
    const actor = { apiKeyId: 'test', agentId: null };
    return {
      ...this.subject,
      hostId,
      installationId,
      templateKey: await this.mayfly.templateKey(this.subject),
      actor,
      times: { ...TIMES, ...times },
      timeouts: TEST_TIMEOUTS,
    };
  }

  /** The ids of one that is to be built. */
  ids(): TemplateIds {
    const ids = templateIdsOf(snapshotIdFrom(randomBytes(ID_BYTES)));
    this.#made.add(ids.templateId);
    for (const id of [ids.builderId, ...ids.probeIds]) this.mayfly.own(id);
    return ids;
  }

  async want(input: TemplateInput, templateId?: string): Promise<void> {
    await wantTemplate(this.mayfly.client, input, { ...(templateId !== undefined && { templateId }) });
  }

  async remove(input: TemplateInput, templateId: string): Promise<void> {
    await this.mayfly.sagas.removeTemplate(input, templateId);
  }

  /** The record, as soon as it is in that state. */
  until(templateId: string, ...states: TemplateRecord['state'][]): Promise<TemplateRecord> {
    return eventually(
      () => this.mayfly.store.templates.get(templateId),
      (record): record is TemplateRecord => record !== null && states.includes(record.state),
    );
  }

  /** All of that key, whatever their states, the newest first. */
  async all({ templateKey }: TemplateInput): Promise<TemplateRecord[]> {
    const all = await this.mayfly.store.templates.all([
      'building',
      'verifying',
      'ready',
      'stale',
      'removing',
      'failed',
      'gone',
    ]);
    return all.filter(({ key }) => key === templateKey);
  }

  /** A template that is ready. */
  async built(input: TemplateInput): Promise<TemplateIds> {
    const ids = this.ids();
    await this.want(input, ids.templateId);
    const record = await this.until(ids.templateId, 'ready', 'failed');
    expect(record).toMatchObject({ state: 'ready', reason: null });
    return ids;
  }

  /** Resolves when the workflow of that key has ended. */
  async over(input: TemplateInput): Promise<void> {
    await this.mayfly.client.workflow.getHandle(templateWorkflowIdOf(input)).result();
  }

  /** Whether anything of it is on the host: its memory, its place among what sandboxes wake from, its builder, its probes. */
  async left({ templateId, builderId, probeIds }: TemplateIds): Promise<string[]> {
    const { memory, store } = this.mayfly;
    const left: string[] = [];
    if (memory?.snapshots.has(templateId)) left.push('memory');
    if ([...(memory?.templates.values() ?? [])].some((one) => one.templateId === templateId)) left.push('index');
    for (const id of [builderId, ...probeIds]) {
      const record = await store.sandboxes.get(id);
      if (record && !isFinal(record.state)) left.push(`${id} is ${record.state}`);
      if (memory?.workspaces.has(id) || memory?.domains.has(id)) left.push(`${id} on its host`);
    }
    return left;
  }

  async told(): Promise<string[]> {
    const entries = await this.mayfly.store.audit.entries(sourceIdOf(this.mayfly.hostRef.hostId, GOLDEN), {
      limit: 500,
    });
    const bodies = entries.map(({ body }) => JSON.parse(body) as { kind: string; detail: { templateId?: string } });
    return bodies.filter(({ detail }) => this.#made.has(detail.templateId ?? '')).map(({ kind }) => kind);
  }

  /** Takes away what is ready, and ends the workflow of that key. */
  async clear(input: TemplateInput): Promise<void> {
    for (const { id, state } of await this.all(input)) {
      if (state === 'gone') continue;
      await this.remove(input, id);
      await this.until(id, 'gone');
    }
    await this.over(input);
  }
}
