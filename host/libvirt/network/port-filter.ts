import { readdir, readFile } from 'node:fs/promises';
import { orAbsent } from '../../os/absent.ts';
import { ExecError } from '../../os/exec.ts';
import { changedTables, listRules, loadRules } from '../../os/nft.ts';
import { allRules, loadFirewall, tableOf } from './firewall.ts';
import type { Leases } from './leases.ts';
import type { NetworkPlans } from './network-plan.ts';
import { type Elements, elementsOf, formatUpdates } from './port-rules.ts';
import { boundAddresses, PORT_PREFIX, type Port, portsOf } from './ports.ts';

/** First byte of libvirt's MAC address for the host's end of a cable. */
const HOSTS_END = 'fe:';
const GUESTS_END = '52:';

/**
 * Filter of the ports of sandboxes with a workspace, of other machines on our bridges, and of the leased addresses. All
 * is read again each time, so nothing of removed machines remains.
 */
export class PortFilter {
  #loaded: Elements | null = null;
  #listing: Awaited<ReturnType<typeof listRules>> | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly deps: {
      networks: NetworkPlans;
      leases: Leases;
      /** Returns all sandboxes with a workspace here. */
      sandboxIds: () => Promise<string[]>;
    },
  ) {}

  /** Loads all rules again. @throws ExecError when the kernel refuses them */
  load(): Promise<void> {
    return this.#serialize(async () => {
      const elements = await this.#elements();
      await loadFirewall(this.deps.networks, elements);
      this.#loaded = elements;
    });
  }

  /**
   * Reloads tables that another program has changed or flushed: until then guests reach each other and the host.
   * @returns names of the repaired tables, as `<family> <name>` @throws ExecError
   */
  async mend(): Promise<string[]> {
    this.#listing ??= await listRules(allRules(this.deps.networks));
    const changed = await changedTables(this.#listing);
    if (changed.length > 0) await this.load();
    return changed;
  }

  /** Admits new machines and removes gone ones. @throws ExecError */
  sync(): Promise<void> {
    return this.#serialize(async () => {
      const elements = await this.#elements();
      await this.#replace(elements);
      this.#loaded = elements;
    });
  }

  /** Updates the sets. After a killed process the kernel's state may differ; then all elements are written again. */
  async #replace(elements: Elements): Promise<void> {
    const table = tableOf(this.deps.networks.isolated.bridge);
    const rules = formatUpdates(table, this.#loaded, elements);
    if (rules === '') return;
    try {
      await loadRules(rules);
    } catch (error) {
      if (!(error instanceof ExecError) || this.#loaded === null) throw error;
      await loadRules(formatUpdates(table, null, elements));
    }
  }

  async #serialize(load: () => Promise<void>): Promise<void> {
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
      listForeignPorts(isolated.bridge),
      listForeignPorts(internet.bridge),
    ]);
    return elementsOf([...ids.flatMap(portsOf), ...plugged.flat()], boundAddresses(leases));
  }
}

/** Returns the ports of machines that are not sandboxes, such as sources: libvirt chooses their names later. */
async function listForeignPorts(bridge: string): Promise<Port[]> {
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
