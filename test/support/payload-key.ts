import { join } from 'node:path';
import { payloadKeys } from '../../worker/payloads/payload-keys.ts';

/** Creates the shared key file of processes with separate state folders, as an operator distributes it. */
export async function payloadKeyIn(folder: string): Promise<{ MAYFLY_PAYLOAD_KEY_FILE: string }> {
  const path = join(folder, 'payload.key');
  await payloadKeys(path, true);
  return { MAYFLY_PAYLOAD_KEY_FILE: path };
}
