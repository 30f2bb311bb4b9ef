import { basename } from 'node:path';
import { domainUuid } from '../../model/ids.ts';
import { isSandboxId } from '../../model/sandbox-id.ts';
import type { Mark } from '../hypervisor.ts';
import { toObservation } from '../observation.ts';
import { entriesOf } from '../os/directory.ts';
import type { StateDir } from '../state-dir.ts';
import type { SavedMemory } from './client/saved-memory.ts';
import { workspaceIds } from './layers/workspace.ts';
import type { Leases } from './network/leases.ts';
import { macsOf } from './network/ports.ts';

/**
 * Returns residue of sandboxes where no libvirtd runs: its definitions and leases are files. @param definitions
 * libvirt's folder of domain definitions
 */
export async function listResidueOffline(
  definitions: string,
  saved: SavedMemory,
  leases: Leases,
  state: StateDir,
): Promise<Mark[]> {
  const files = (await entriesOf(definitions)) ?? [];
  const defined = files.filter((name) => name.endsWith('.xml')).map((name) => basename(name, '.xml'));
  const [memories, leased, workspaces] = await Promise.all([saved.sandboxIds(), leases.all(), workspaceIds(state)]);
  const hostnames = leased.flatMap(({ hostname }) => (hostname === null ? [] : [hostname]));
  return [...new Set([...defined, ...memories, ...hostnames, ...workspaces])]
    .filter(isSandboxId)
    .flatMap((sandboxId) => {
      const macs = macsOf(sandboxId);
      const addresses = leased.filter((lease) => macs.has(lease.macAddress)).map(({ address }) => address);
      const machine = [
        ...(defined.includes(sandboxId) ? [`${sandboxId} (${domainUuid(sandboxId)})`] : []),
        ...(memories.includes(sandboxId) ? [saved.of(sandboxId)] : []),
      ];
      const folder = state.workspace(sandboxId);
      return [
        ...(machine.length > 0 ? [toObservation('domain', `${definitions}, ${saved.folder}`, machine)] : []),
        ...(addresses.length > 0 ? [toObservation('lease', leases.files.join(', '), addresses)] : []),
        ...(workspaces.includes(sandboxId) ? [toObservation('workspace', folder, [folder])] : []),
      ].map((observation) => ({ sandboxId, observation }));
    });
}
