import { createHash } from 'node:crypto';
import type { Failpoints } from '../../../host/failpoints.ts';
import type { CloneRequest } from '../../../host/hypervisor.ts';
import type { StepContext } from '../../../host/step-context.ts';
import type { HostTemplate, HostTemplates, TemplateRequest, TemplateUse } from '../../../host/templates.ts';
import { MayflyError } from '../../../model/errors.ts';
import type { Boot } from '../../../model/sandbox/sandbox.ts';
import { describeDisk, type InMemoryMachine } from './machine.ts';

/** Templates of a machine in memory: a guest that wakes from one has its files. */
export class InMemoryTemplates implements HostTemplates {
  constructor(
    private readonly machine: InMemoryMachine,
    private readonly failpoints: Failpoints,
  ) {}

  async keyOf({ project, source, cpus, memoryMib }: TemplateRequest): Promise<string | null> {
    if (!this.machine.makesTemplates) return null;
    const image = this.machine.images.get(source);
    if (!image) throw new MayflyError('source_not_found', `There is no source ${source}.`);
    const parts = [project, source, describeDisk(image.files).sha256, cpus, memoryMib];
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  }

  async settle(builderId: string, { signal }: StepContext): Promise<void> {
    if (!this.machine.isOn(builderId)) throw new MayflyError('template_failed', `${builderId} does not run any more.`);
    await this.failpoints.hit('settleTemplate', 'during', builderId, signal);
  }

  async publish({ key, templateId, savedAt }: HostTemplate): Promise<void> {
    if (!this.machine.snapshots.get(templateId)?.savedAt) {
      throw new MayflyError('template_failed', `${templateId} is not on this host, or only half of it is.`);
    }
    await this.failpoints.hit('publishTemplate', 'during', templateId);
    const use = { templateId, wakes: 0, failuresInARow: 0, lastFailure: null, lastUsedAt: null, isReady: true };
    if (this.machine.templates.get(key)?.templateId === templateId) return;
    this.machine.templates.set(key, { templateId, savedAt, use });
  }

  async retire(templateId: string): Promise<void> {
    await this.failpoints.hit('retireTemplate', 'during', templateId);
    for (const [key, template] of this.machine.templates) {
      if (template.templateId === templateId) this.machine.templates.delete(key);
    }
  }

  async uses(): Promise<TemplateUse[]> {
    return [...this.machine.templates.values()].map(({ use }) => ({ ...use }));
  }

  /** Chooses the kind of boot. @throws MayflyError template_unavailable */
  async bootOf(request: CloneRequest): Promise<{ boot: Boot; templateKey: string | null }> {
    const { boot: wish = 'cold', project, source, cpus, memoryMib } = request;
    const cold = (why: Boot['why']): Boot => ({ way: 'cold', why, templateId: null, ageSeconds: null });
    if (wish === 'cold' || project === undefined) return { boot: cold('asked'), templateKey: null };
    const hasOrigin = request.snapshotId !== null || (request.captureId ?? null) !== null;
    const templateKey = hasOrigin ? null : await this.keyOf({ project, source, cpus, memoryMib });
    const ready = templateKey === null ? undefined : this.machine.templates.get(templateKey);
    if (ready?.use.isReady) {
      ready.use = { ...ready.use, wakes: ready.use.wakes + 1, lastUsedAt: new Date().toISOString() };
      const ageSeconds = Math.floor((Date.now() - Date.parse(ready.savedAt)) / 1_000);
      return { boot: { way: 'template', why: null, templateId: ready.templateId, ageSeconds }, templateKey };
    }
    if (wish === 'template') throw new MayflyError('template_unavailable', `No template of ${source} is ready here.`);
    const without = templateKey === null ? 'unsupported' : 'no_template';
    return { boot: cold(hasOrigin ? 'origin' : without), templateKey };
  }
}
