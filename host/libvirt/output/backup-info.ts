import { fieldOf } from './job-info.ts';

/** What `virsh domjobinfo` says of a domain's job, or with `--completed` of the last one that ended. */
export interface JobInfo {
  /** For example `None`, `Unbounded`, `Completed`, `Failed`, `Cancelled`. */
  type: string;
  /** For example `Backup`; null when there is no job. */
  operation: string | null;
  /** How far it has come, for a person: `12.500 MiB of 2.000 GiB`; null when it does not say. */
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
