import { dirname } from 'node:path';
import { guestBinaries } from '../../worker/config/artifacts.mjs';

/** Returns the folder of the guest agent built by set-up. @throws Error when it is missing */
export function agentFolder(): string {
  const guest = guestBinaries();
  if (!guest) throw new Error('The guest agent is not built: run `node scripts/setup.mjs --only guest`.');
  return dirname(guest.agent);
}
