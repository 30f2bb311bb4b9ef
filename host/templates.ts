import type { StepContext } from './step-context.ts';

export interface TemplateRequest {
  /** Only this project's sandboxes wake from it: memory pages that guests share allow timing attacks. */
  project: string;
  source: string;
  /** Null: as the source has. */
  cpus: number | null;
  memoryMib: number | null;
}

export interface HostTemplate {
  /** 64 hexadecimal digits, see {@link HostTemplates.keyOf}. */
  key: string;
  /** Id of its snapshot with memory: `snp-…`. */
  templateId: string;
  /** Time its memory was saved, ISO 8601. */
  savedAt: string;
}

/** Usage of a template since its publication. */
export interface TemplateUse {
  templateId: string;
  wakes: number;
  /** Consecutive failures since the last successful wake. */
  failuresInARow: number;
  /** Reason of the last failure; null: none. A guest may have written it. */
  lastFailure: string | null;
  /** ISO 8601; null: never. */
  lastUsedAt: string | null;
  /** True when it may be woken from: false after three failures in a row, and when its memory has changed. */
  isReady: boolean;
}

/**
 * Templates of one machine: memories of guests that have booted without a network and have no identity yet. As with
 * {@link Hypervisor}, every method that changes something is idempotent.
 */
export interface HostTemplates {
  /**
   * Digests all that a machine woken from memory must find unchanged: the content of the source's disks, its hardware,
   * the CPU, QEMU, libvirt, the firmware, how templates are made, and the project.
   * @returns null where this host makes no templates, or none of that source
   * @throws MayflyError source_not_found
   */
  keyOf(request: TemplateRequest, context: StepContext): Promise<string | null>;
  /**
   * Brings a builder, booted without a cable, to rest: boot complete, first login's files in memory, identity removed.
   * @throws MayflyError template_failed
   */
  settle(builderId: string, context: StepContext): Promise<void>;
  /** Makes the template available to new sandboxes; of one key, the later replaces the earlier. */
  publish(template: HostTemplate): Promise<void>;
  /** Stops waking from the template and deletes its memory. Its disk stays while it is referenced. */
  retire(templateId: string): Promise<void>;
  uses(): Promise<TemplateUse[]>;
}

export const NO_TEMPLATES: HostTemplates = {
  keyOf: () => Promise.resolve(null),
  settle: () => Promise.reject(new RangeError('this host makes no templates')),
  publish: () => Promise.reject(new RangeError('this host makes no templates')),
  retire: () => Promise.resolve(),
  uses: () => Promise.resolve([]),
};
