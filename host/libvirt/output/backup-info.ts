import { fieldOf } from './job-info.ts';

/** Output of `virsh domjobinfo` about a domain's job, or with `--completed` about its last ended one. */
export interface JobInfo {
  /** For example `None`, `Unbounded`, `Completed`, `Failed`, `Cancelled`. */
  type: string;
  /** For example `Backup`; null without a job. */
  operation: string | null;
  /** Progress for a person: `12.500 MiB of 2.000 GiB`; null when not reported. */
  progress: string | null;
}

export function jobInfo(text: string): JobInfo {
  const [done, total] = [fieldOf(text, 'File processed'), fieldOf(text, 'File total')];
  return {
    type: fieldOf(text, 'Job type') ?? 'None',
    operation: fieldOf(text, 'Operation'),
    progress: done !== null && total !== null ? `${done} of ${total}` : null,
  };
}
