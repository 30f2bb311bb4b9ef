import type { Hypervisor } from '../../host/hypervisor.ts';
import { nullIf } from '../../host/os/absent.ts';
import type { HostTemplate, TemplateRequest, TemplateUse } from '../../host/templates.ts';
import { isMayflyError } from '../../model/errors.ts';
import { stepContext } from '../step/step-context.ts';
import type { StepTarget } from '../step/steps.ts';

interface TemplateTarget extends StepTarget {
  templateId: string;
}

interface PublishInput extends TemplateTarget, Pick<HostTemplate, 'savedAt'> {
  templateKey: string;
}

/** State of a template on its host. */
export interface TemplateInspection {
  /** Current key for that machine; null: no template possible. */
  templateKey: string | null;
  /** Usage; null: unknown to the host. */
  use: TemplateUse | null;
}

export function createTemplateActivities({ hypervisor }: { hypervisor: Pick<Hypervisor, 'templates'> }) {
  const { templates } = hypervisor;

  /**
   * Returns the current key; null when no template is possible, or the source is missing.
   * @throws MayflyError host_unavailable
   */
  function keyOf(request: TemplateRequest): Promise<string | null> {
    return nullIf(templates.keyOf(request, stepContext()), (error) => isMayflyError(error, 'source_not_found'));
  }

  return {
    async lookAtTemplate({
      of,
      templateId,
    }: {
      of: TemplateRequest;
      templateId: string | null;
    }): Promise<TemplateInspection> {
      const [templateKey, uses] = await Promise.all([keyOf(of), templates.uses()]);
      return { templateKey, use: uses.find((use) => use.templateId === templateId) ?? null };
    },

    /** @param target target in its builder @throws MayflyError template_failed */
    async settleTemplate({ sandboxId }: TemplateTarget): Promise<void> {
      await templates.settle(sandboxId, stepContext());
    },
    async publishTemplate({ templateKey: key, templateId, savedAt }: PublishInput): Promise<void> {
      await templates.publish({ key, templateId, savedAt });
    },
    async retireTemplate({ templateId }: TemplateTarget): Promise<void> {
      await templates.retire(templateId);
    },
  };
}
