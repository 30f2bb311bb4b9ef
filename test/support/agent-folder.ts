import { dirname } from 'node:path';
import { guestBinaries } from '../../worker/config/artifacts.mjs';

/** The folder of the guest agent that set-up has built. @throws Error when it is not there */
export function agentFolder(): string {
  const guest = guestBinaries();
  if (!guest) throw new Error('The guest agent is not built: run `node scripts/setup.mjs --only guest`.');
  return dirname(guest.agent);
}
