import type { HostRef } from '../host.ts';
import { LONGEST_CHECK_SECONDS } from '../image/ready.ts';
import type { Actor, SandboxFailure } from '../sandbox/sandbox.ts';
import type { Timeouts } from '../sandbox/timeouts.ts';
import type { TemplateRecord, TemplateSubject } from './template.ts';

/** The workflow of one key on one host, while there is a template of it, or somebody wants one; its id is {@link templateWorkflowIdOf}. */
export const TEMPLATE_WORKFLOW = 'template';
export interface TemplateInput extends HostRef, TemplateSubject {
  /** As the host has said it, see host/templates.ts. */
  templateKey: string;
  actor: Actor;
  /** `@default` DEFAULT_TEMPLATE_TIMES */
  times?: Partial<TemplateTimes>;
  /** Of its builder and its probes. `@default` DEFAULT_TIMEOUTS */
  timeouts?: Partial<Timeouts>;
  /** What the run before this one hands over. `@default` this is the first */
  continued?: ContinuedTemplate;
}

/** What a run of a template's workflow hands to the next one: never in the middle of a build, or of a removal. */
interface ContinuedTemplate {
  /** The one that is ready; null: none. */
  ready: TemplateRecord | null;
  /** The last that failed, and is not replaced yet. */
  failed: TemplateRecord | null;
  /** Builds that failed, one after another. */
  failures: number;
  /** Milliseconds since 1970: no build before. */
  retryAt: number;
  wanted: TemplateWish | null;
  /** When somebody woke from one last, or the first of those that replaced each other was ready. Milliseconds since 1970. */
  usedAt: number | null;
  /** Workflow ids of those that wait for a template. */
  subscribers: string[];
}

/** A template, and the sandboxes that its build needs. */
export type TemplateIds = Pick<TemplateRecord, 'builderId' | 'probeIds'> & { templateId: string };

/** Signal with a {@link TemplateWish}: a sandbox would have woken from it, or somebody asks for one. */
export const TEMPLATE_WANTED = 'templateWanted';
export interface TemplateWish {
  /** The id that the next one shall have. `@default` a new one */
  templateId?: string;
  /** Of the host that is to have it: what another installation of that host id had, nobody wakes from. */
  installationId: string;
}

/** Signal with a {@link TemplateRemoval}: none wakes from it any more, and it goes. */
export const REMOVE_TEMPLATE = 'removeTemplate';
export interface TemplateRemoval {
  templateId: string;
}

/** Signal, no arguments: its host may not wake from it any more. */
export const LOOK_AT_TEMPLATE = 'lookAtTemplate';

export function templateWorkflowIdOf({ hostId, templateKey }: Pick<TemplateInput, 'hostId' | 'templateKey'>): string {
  return `template/${hostId}/${templateKey}`;
}

/** The workflow that asks a host which template one wants, and then for that; its id is {@link templateRequestWorkflowIdOf}. */
export const MAKE_TEMPLATE_WORKFLOW = 'makeTemplate';
export interface MakeTemplateInput extends Omit<TemplateInput, 'templateKey' | 'continued'> {
  /** The id that it shall have, if none is there and none is being made. */
  templateId: string;
}

/** The template that there is then, whose id may be another; or why there is none. */
export type MadeTemplate =
  | { templateId: string; templateKey: string }
  | { refused: Pick<SandboxFailure, 'code' | 'message'> };

export function templateRequestWorkflowIdOf(templateId: string): string {
  return `template-request/${templateId}`;
}

/** The first record of a template: what was asked for, and nothing that has happened. @param at ISO 8601 */
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

/** How long each thing takes that a template's workflow waits for. Milliseconds; arguments, so that tests take moments. */
export const DEFAULT_TEMPLATE_TIMES = {
  /** A build waits for creates that are under way on its host, but no longer. */
  quietMs: 180_000,
  /** Between two looks whether there are any. */
  quietLookMs: 2_000,
  /** Between two looks whether it may still be woken from. */
  lookMs: 300_000,
  /** From when its memory was saved until another takes its place: what its forks share is shared no longer. */
  oldMs: 24 * 3_600_000,
  /** It goes when nobody has woken from it for so long. */
  unusedMs: 7 * 24 * 3_600_000,
  /** From a failure to the next build; each further one doubles it. */
  firstRetryMs: 30_000,
  longestRetryMs: 600_000,
  /** How long after that failures are remembered, when nobody asks for a template. */
  rememberedMs: 3_600_000,
  /** The guest boots meanwhile, to its end, and is asked whether its image is ready. */
  settleMs: 320_000 + LONGEST_CHECK_SECONDS * 1_000,
};
export type TemplateTimes = typeof DEFAULT_TEMPLATE_TIMES;

/** After so many another takes its place, as after {@link TemplateTimes.oldMs}. */
export const MOST_WAKES = 1_000;
