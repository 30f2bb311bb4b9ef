import { option } from '../terminal/arguments.ts';

export const HOST_OPTION = {
  host: option('Host id, where several hosts have a source of that name'),
};

export function onHost({ host }: { host?: string | undefined }): { hostId?: string } {
  return host === undefined ? {} : { hostId: host };
}
