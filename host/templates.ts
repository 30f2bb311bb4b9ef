import type { StepContext } from './step-context.ts';

export interface TemplateRequest {
  /** Only that project's sandboxes wake from it: pages that guests share can be timed. */
  project: string;
  source: string;
  /** Null: as the source has. */
  cpus: number | null;
  memoryMib: number | null;
}

export interface HostTemplate {
  /** 64 hexadecimal digits, see {@link HostTemplates.keyOf}. */
  key: string;
  /** Of the snapshot with memory that it is: `snp-…`. */
  templateId: string;
  /** When its memory was saved, ISO 8601. */
  savedAt: string;
}

/** What became of it since. */
export interface TemplateUse {
  templateId: string;
  wakes: number;
  /** Since the last that woke. */
  failuresInARow: number;
  /** Why the last that failed did; null: none has. A guest may have written it. */
  lastFailure: string | null;
  /** ISO 8601; null: never. */
  lastUsedAt: string | null;
  /** Whether it may be woken from: three failures in a row end that, and so does memory that has changed. */
  isReady: boolean;
}

/**
 * The templates of one machine: memories of guests that have booted without a network and are nobody yet. As with
 * {@link Hypervisor}, every method that changes something is an "ensure".
 */
export interface HostTemplates {
  /**
   * Names all that a machine woken from memory must have found unchanged: the content of the source's disks, its hardware, the
   * CPU, QEMU, libvirt, the firmware, how templates are made, and the project.
   * @returns null where this host makes no templates, or none of that source
   * @throws MayflyError source_not_found
   */
  keyOf(request: TemplateRequest, context: StepContext): Promise<string | null>;
  /**
   * Booted without a cable, to its end, quiet, with what a first login reads in its memory, and nothing in it that
   * makes it that machine. @throws MayflyError template_failed
   */
  settle(builderId: string, context: StepContext): Promise<void>;
  /** From here on sandboxes wake from it: there is one of a key, and a later one takes its place. */
  publish(template: HostTemplate): Promise<void>;
  /** None wakes from it any more, and its memory is gone. Its disk stays for those that refer to it. */
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
