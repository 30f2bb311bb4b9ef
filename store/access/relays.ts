import { z } from 'zod';
import { encrypted } from '../../model/fields.ts';
import { isHostId } from '../../model/ids.ts';
import { recordRepositoryOf } from '../repository/repository.ts';

const relay = z.object({
  id: z.string(),
  url: z.string(),
  key: encrypted(z.string()).describe('Hex'),
});
/** Where a host's worker lets the API through to its guests, and what proves each to the other. Shown to nobody. */
export type RelayAddress = Omit<z.infer<typeof relay>, 'id'>;

/** Relays of hosts, `_id` = host id. Apart from the hosts, so that whoever reads those never has a key in hand. */
export class Relays extends recordRepositoryOf({ collection: 'relays', noun: 'a host', isId: isHostId, model: relay }) {
  /** Says where the relay of a host is from now on; whether it still runs is another question. */
  async announce(id: string, address: RelayAddress): Promise<void> {
    await this.write(this.checked(id), address);
  }
}
