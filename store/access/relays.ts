import { z } from 'zod';
import { encryptedField } from '../../model/fields.ts';
import { isHostId } from '../../model/ids.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

const relay = z.object({
  id: z.string(),
  url: z.string(),
  key: encryptedField(z.string()).describe('Hex'),
});
/** Address of a host's relay and the key that authenticates API and relay to each other. Never shown. */
export type RelayAddress = Omit<z.infer<typeof relay>, 'id'>;

/** Relays of hosts, `_id` = host id. Separate from the hosts, so that reading those exposes no key. */
export class Relays extends recordRepositoryOf({ collection: 'relays', noun: 'a host', isId: isHostId, model: relay }) {
  /** Records the address of a host's relay, whether or not it runs. */
  async announce(id: string, address: RelayAddress): Promise<void> {
    await this.write(this.checked(id), address);
  }
}
