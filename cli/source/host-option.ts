import type { ArgsDef } from 'citty';

export const HOST_OPTION = {
  host: { type: 'string', description: 'Host id, where several hosts have a source of that name' },
} as const satisfies ArgsDef;

export function onHost({ host }: { host?: string | undefined }): { hostId?: string } {
  return host === undefined ? {} : { hostId: host };
}
