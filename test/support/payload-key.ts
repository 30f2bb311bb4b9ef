import { join } from 'node:path';
import { payloadKeys } from '../../worker/payloads/payload-keys.ts';

/** The keys that processes with state folders of their own share, as an operator hands them out: in one file of that folder. */
export async function payloadKeyIn(folder: string): Promise<{ MAYFLY_PAYLOAD_KEY_FILE: string }> {
  const path = join(folder, 'payload.key');
  await payloadKeys(path, true);
  return { MAYFLY_PAYLOAD_KEY_FILE: path };
}
