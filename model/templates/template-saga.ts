import type { HostRef } from '../host.ts';
import { LONGEST_CHECK_SECONDS } from '../image/ready.ts';
import type { Actor, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { TemplateRecord, TemplateSubject } from './template.ts';

/**
 * Workflow of one template key on one host; exists while a template exists or is requested. Its id is
 * {@link templateWorkflowId}.
 */
export const TEMPLATE_WORKFLOW = 'template';
export interface TemplateInput extends HostRef, TemplateSubject {
  /** Computed by the host, see host/templates.ts. */
  templateKey: string;
  actor: Actor;
  /** `@default` DEFAULT_TEMPLATE_TIMES */
  times?: Partial<TemplateTimes>;
  /** Timeouts of its builder and its probes. `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
  /** State handed over by the previous run. `@default` first run */
  continued?: ContinuedTemplate;
}

/** State of a template's workflow across continue-as-new: never during a build or a removal. */
interface ContinuedTemplate {
  /** Null: none is ready. */
  ready: TemplateRecord | null;
  /** Last failed template, until it is replaced. */
  failed: TemplateRecord | null;
  /** Consecutive failed builds. */
  failures: number;
  /** Earliest next build, ms since 1970. */
  retryAt: number;
  wanted: TemplateRequest | null;
  /** Time of the latest wake, or at which the first of consecutive replacements was ready, ms since 1970. */
  usedAt: number | null;
  /** Ids of workflows that wait for a template. */
  subscribers: string[];
}

/** Ids of a template, and of its build's sandboxes. */
export type TemplateIds = Pick<TemplateRecord, 'builderId' | 'probeIds'> & { templateId: string };

/** Signal with a {@link TemplateRequest}: a sandbox could have used the template, or a caller requested it. */
export const REQUEST_TEMPLATE = 'templateWanted';
export interface TemplateRequest {
  /** Id for the next template. `@default` a new one */
  templateId?: string;
  /** Installation of its host: templates of another installation with the same host id are unusable. */
  installationId: string;
}

/** Signal with a {@link TemplateRemoval}: stops its use, and removes it. */
export const REMOVE_TEMPLATE = 'removeTemplate';
export interface TemplateRemoval {
  templateId: string;
}

/** Signal without arguments: its host may no longer be able to wake from it. */
export const CHECK_TEMPLATE = 'lookAtTemplate';

export function templateWorkflowId({ hostId, templateKey }: Pick<TemplateInput, 'hostId' | 'templateKey'>): string {
  return `template/${hostId}/${templateKey}`;
}

/**
 * Workflow that gets the template key of a machine from a host, then requests that template; its id is
 * {@link templateRequestWorkflowId}.
 */
export const MAKE_TEMPLATE_WORKFLOW = 'makeTemplate';
export interface MakeTemplateInput extends Omit<TemplateInput, 'templateKey' | 'continued'> {
  /** Id of the template, unless one exists or is being built. */
  templateId: string;
}

/** Resulting template, possibly an existing one; or the refusal. */
export type TemplateResult =
  | { templateId: string; templateKey: string }
  | { refused: Pick<SandboxFailure, 'code' | 'message'> };

export function templateRequestWorkflowId(templateId: string): string {
  return `template-request/${templateId}`;
}

/** Builds the first record of a template. @param at ISO 8601 */
export function newTemplate(
  input: TemplateInput,
  { templateId: id, builderId, probeIds }: TemplateIds,
  at: string,
): TemplateRecord {
  const { hostId, installationId, templateKey: key, project, source, cpus, memoryMib, actor } = input;
  return {
    id,
    key,
    hostId,
    installationId,
    project,
    source,
    cpus,
    memoryMib,
    state: 'building',
    reason: null,
    retryAt: null,
    builderId,
    probeIds,
    createdBy: actor,
    createdAt: at,
    savedAt: null,
    readyAt: null,
    wakes: 0,
    lastUsedAt: null,
    sizeBytes: null,
    waitingFor: null,
    updatedAt: at,
  };
}

/** Intervals and timeouts of a template's workflow, ms; arguments, so that tests are fast. */
export const DEFAULT_TEMPLATE_TIMES = {
  /** Longest time that a build waits for creates on its host. */
  quietMs: 180_000,
  /** Interval between two checks for creates. */
  quietLookMs: 2_000,
  /** Interval between two checks that the host can still wake from it. */
  lookMs: 300_000,
  /** Age of the saved memory at which it is replaced, since forks share ever fewer pages. */
  oldMs: 24 * 3_600_000,
  /** Time without a wake after which it is removed. */
  unusedMs: 7 * 24 * 3_600_000,
  /** Backoff after a failed build; doubles with each further failure. */
  firstRetryMs: 30_000,
  longestRetryMs: 600_000,
  /** Time after which failures are forgotten, if no template is requested. */
  rememberedMs: 3_600_000,
  /** Time for the guest to finish its boot, and for the readiness check of its image. */
  settleMs: 320_000 + LONGEST_CHECK_SECONDS * 1_000,
};
export type TemplateTimes = typeof DEFAULT_TEMPLATE_TIMES;

/** Wakes after which it is replaced, as after {@link TemplateTimes.oldMs}. */
export const MAX_WAKES = 1_000;
