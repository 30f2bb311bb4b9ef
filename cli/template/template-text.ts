import type { Template } from '../../clients/typescript/http/openapi.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { recordLines } from '../terminal/columns.ts';
import type { Io } from '../terminal/io.ts';

/** A template as a person reads it; null fields are left out. */
export function templateLines(io: Io, template: Template): string[] {
  const { cpus, memoryMib, sizeBytes, lastUsedAt, wakes } = template;
  const machine = [cpus && `${cpus} CPUs`, memoryMib && `${memoryMib} MiB`].filter(Boolean).join(', ');
  const fields: [string, string | null][] = [
    ['state', template.state],
    ['of', template.source],
    ['machine', machine === '' ? "the source's" : machine],
    ['project', template.project],
    ['host', template.hostId],
    ['saved', template.savedAt],
    ['takes', sizeBytes === null ? null : `${size(sizeBytes)} on the host`],
    ['woken', `${wakes} times${lastUsedAt ? `, last at ${lastUsedAt}` : ''}`],
    ['waits for', template.waitingFor],
    ['reason', template.reason],
    ['again', template.retryAt && `when it is asked for, not before ${template.retryAt}`],
  ];
  return recordLines(io, template.id, fields);
}
