/** What `virsh domjobinfo` says of a domain's job, or with `--completed` of the last one that ended. */
export interface JobInfo {
  /** For example `None`, `Unbounded`, `Completed`, `Failed`, `Cancelled`. */
  type: string;
  /** For example `Backup`; null when there is no job. */
  operation: string | null;
  /** How far it has come, for a person: `12.5 MiB of 2 GiB`; null when it does not say. */
  progress: string | null;
}

export function jobInfo(text: string): JobInfo {
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\S.*?)\\s*$`, 'm').exec(text)?.[1] ?? null;
  const [done, total] = [field('File processed'), field('File total')];
  return {
    type: field('Job type') ?? 'None',
    operation: field('Operation'),
    progress: done !== null && total !== null ? `${done} of ${total}` : null,
  };
}
