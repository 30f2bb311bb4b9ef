import type { HostRef } from '../host.ts';
import { LONGEST_CHECK_SECONDS } from '../image/ready.ts';
import type { Actor } from '../sandbox/sandbox.ts';

/**
 * building → verifying → ready → stale → removing → gone, or building, verifying → failed → gone
 *
 * Sandboxes wake from one that is `ready`, and from no other. `stale`: its host wakes none from it any more. What has `failed`
 * has left nothing; it is `gone` when another is begun in its place, or when nobody asks for one.
 */
export const TEMPLATE_STATES = ['building', 'verifying', 'ready', 'stale', 'removing', 'failed', 'gone'] as const;
export type TemplateState = (typeof TEMPLATE_STATES)[number];

/** Of all that are shown in a list. */
export const PRESENT_TEMPLATE_STATES = TEMPLATE_STATES.filter((state) => state !== 'gone');

/** Which machine it is of, and whose sandboxes wake from it. */
export interface TemplateSubject {
  project: string;
  source: string;
  /** Null: as the source has. */
  cpus: number | null;
  memoryMib: number | null;
}

/** The record of a template: `_id` is its id. Written by the workflow of its key only. */
export interface TemplateRecord extends HostRef, TemplateSubject {
  /** Of the snapshot with memory that it is: `snp-…`. */
  id: string;
  /** All that a machine which wakes from it must find unchanged, see host/templates.ts. */
  key: string;
  state: TemplateState;
  /** Why it has failed, or is to go; null: neither. */
  reason: string | null;
  /** Of one that failed: before this no other is begun. ISO 8601. */
  retryAt: string | null;
  /** The sandbox whose memory it is, and those that tried to wake from it: they are gone before it is `ready`, or `failed`. */
  builderId: string;
  probeIds: string[];
  /** Who asked for it first. */
  createdBy: Actor;
  createdAt: string;
  /** When its memory was saved; null: not yet. */
  savedAt: string | null;
  readyAt: string | null;
  /** As its host last told, some minutes ago at most. */
  wakes: number;
  lastUsedAt: string | null;
  /** On the host; null: not saved yet. */
  sizeBytes: number | null;
  /** What a build, or a removal, that can't go on waits for. */
  waitingFor: string | null;
  updatedAt: string;
}

/** How long each thing takes that a template's workflow waits for. Milliseconds; arguments, so that tests take moments. */
export interface TemplateTimes {
  /** A build waits for creates that are under way on its host, but no longer. */
  quietMs: number;
  /** Between two looks whether there are any. */
  quietLookMs: number;
  /** Between two looks whether it may still be woken from. */
  lookMs: number;
  /** From when its memory was saved until another takes its place: what its forks share is shared no longer. */
  oldMs: number;
  /** It goes when nobody has woken from it for so long. */
  unusedMs: number;
  /** From a failure to the next build; each further one doubles it. */
  firstRetryMs: number;
  longestRetryMs: number;
  /** How long after that failures are remembered, when nobody asks for a template. */
  rememberedMs: number;
  /** The guest boots meanwhile, to its end, and is asked whether its image is ready. */
  settleMs: number;
}

export const DEFAULT_TEMPLATE_TIMES: TemplateTimes = {
  quietMs: 180_000,
  quietLookMs: 2_000,
  lookMs: 300_000,
  oldMs: 24 * 3_600_000,
  unusedMs: 7 * 24 * 3_600_000,
  firstRetryMs: 30_000,
  longestRetryMs: 600_000,
  rememberedMs: 3_600_000,
  settleMs: 200_000 + LONGEST_CHECK_SECONDS * 1_000,
};

/** After so many another takes its place, as after {@link TemplateTimes.oldMs}. */
export const MOST_WAKES = 1_000;
