import { readdir, readFile } from 'node:fs/promises';
import { orAbsent } from '../../os/absent.ts';
import { ExecError } from '../../os/exec.ts';
import { changedTables, listingOf, loadRules } from '../../os/nft.ts';
import { allRules, closeOff, tableOf } from './firewall.ts';
import type { Leases } from './leases.ts';
import type { NetworkPlans } from './network-plan.ts';
import { type Elements, elementsOf, replacedElements } from './port-rules.ts';
import { boundAddresses, PORT_PREFIX, type Port, portsOf } from './ports.ts';

/** What libvirt makes the first byte of a machine's MAC address on the host's end of its cable. */
const HOSTS_END = 'fe:';
const GUESTS_END = '52:';

/**
 * The ports that sandboxes with a workspace have or will have, those plugged in under another name, and the addresses
 * that are leased. All is read anew each time, so nothing is left of what is gone.
 */
export class PortFilter {
  #loaded: Elements | null = null;
  #listing: Awaited<ReturnType<typeof listingOf>> | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly deps: {
      networks: NetworkPlans;
      leases: Leases;
      /** Of all sandboxes that have a workspace here. */
      sandboxIds: () => Promise<string[]>;
    },
  ) {}

  /** Loads all rules anew. @throws ExecError when the kernel refuses them */
  load(): Promise<void> {
    return this.#inTurn(async () => {
      const elements = await this.#elements();
      await closeOff(this.deps.networks, elements);
      this.#loaded = elements;
    });
  }

  /**
   * Where somebody else has changed or flushed them: until then guests reach each other and the host. @returns the
   * tables that were not as they should be, as `<family> <name>` @throws ExecError
   */
  async mend(): Promise<string[]> {
    this.#listing ??= await listingOf(allRules(this.deps.networks));
    const changed = await changedTables(this.#listing);
    if (changed.length > 0) await this.load();
    return changed;
  }

  /** Lets in who has come, and out who has gone. @throws ExecError */
  sync(): Promise<void> {
    return this.#inTurn(async () => {
      const elements = await this.#elements();
      await this.#replace(elements);
      this.#loaded = elements;
    });
  }

  /** What the kernel has need not be what we loaded: a process that was killed may have come to it between. Then all of it is said again. */
  async #replace(elements: Elements): Promise<void> {
    const table = tableOf(this.deps.networks.isolated.bridge);
    const rules = replacedElements(table, this.#loaded, elements);
    if (rules === '') return;
    try {
      await loadRules(rules);
    } catch (error) {
      if (!(error instanceof ExecError) || this.#loaded === null) throw error;
      await loadRules(replacedElements(table, null, elements));
    }
  }

  async #inTurn(load: () => Promise<void>): Promise<void> {
    const mine = this.#turn.then(load);
    this.#turn = mine.catch(() => {
      this.#loaded = null; // all of it the next time
    });
    await mine;
  }

  async #elements(): Promise<Elements> {
    const { isolated, internet } = this.deps.networks;
    const [ids, leases, ...plugged] = await Promise.all([
      this.deps.sandboxIds(),
      this.deps.leases.all(),
      pluggedInto(isolated.bridge),
      pluggedInto(internet.bridge),
    ]);
    return elementsOf([...ids.flatMap(portsOf), ...plugged.flat()], boundAddresses(leases));
  }
}

/**
 * Machines that are no sandboxes, such as a source: libvirt plugs them in, and its name for a port is not known before.
 */
async function pluggedInto(bridge: string): Promise<Port[]> {
  const names = (await orAbsent(readdir(`/sys/class/net/${bridge}/brif`))) ?? [];
  const found = names
    .filter((name) => !name.startsWith(PORT_PREFIX))
    .map(async (name) => {
      const address = (await orAbsent(readFile(`/sys/class/net/${name}/address`, 'utf8')))?.trim();
      if (!address?.startsWith(HOSTS_END)) return [];
      return [{ name, macAddress: address.replace(HOSTS_END, GUESTS_END) }];
    });
  return (await Promise.all(found)).flat();
}
