import { isDeepStrictEqual } from 'node:util';
import {
  interfaceAddress,
  interfaceMacs,
  leasedAddress,
  neighbourAddress,
} from '../../host/libvirt/output/addresses.ts';
import { listedDisks } from '../../host/libvirt/output/disk-list.ts';
import { domainState } from '../../host/libvirt/output/domain-state.ts';
import { queryFailure, removeFailure, startFailure } from '../../host/libvirt/output/failures.ts';
import { nodeInfo, nodeMemory } from '../../host/libvirt/output/node.ts';
import { names } from '../../host/libvirt/output/tables.ts';
import { type Case, isRecord, type Problem, stringField } from './case.ts';

/** Mayfly's parsers under the names of the cases, with their result fields. */
const READERS: Record<string, (input: unknown) => Record<string, unknown>> = {
  domblklist_first_disk(input) {
    const disks = listedDisks(textOf(input));
    return { path: disks[0]?.source ?? null, kind: disks[0]?.kind ?? null, error_or_all: disks.map((d) => d.source) };
  },
  domifaddr_ipv4_mac(input) {
    return { ...(interfaceAddress(textOf(input)) ?? { ip: null, mac: null }) };
  },
  domiflist_mac(input) {
    const macs = interfaceMacs(textOf(input));
    return { mac: macs[0] ?? null, macs };
  },
  domstate: (input) => ({ state: domainState(textOf(input)) }),
  domstate_error: (input) => ({ ...queryFailure(textOf(input)) }),
  start_error: (input) => ({ ...startFailure(textOf(input)) }),
  undefine_error: (input) => ({ ...removeFailure(textOf(input)) }),
  list_names: (input) => ({ names: names(textOf(input)) }),
  net_dhcp_leases_ip: (input) => ({ ip: leasedAddress(textOf(input), stringField(input, 'mac')) }),
  ip_neigh: (input) => ({ ip: neighbourAddress(textOf(input), stringField(input, 'mac')) }),
  nodeinfo(input) {
    const { cpus, memoryTotalMib } = nodeInfo(textOf(input));
    return { cpus, total_mb: memoryTotalMib };
  },
  nodememstats(input) {
    const { memoryTotalMib, memoryAvailableMib } = nodeMemory(textOf(input));
    return { total_mb: memoryTotalMib, available_mb: memoryAvailableMib };
  },
};

/** Compares the fields that a case expects; it may omit fields. */
export function libvirtOutput(one: Case): Problem {
  const reader = READERS[one.function ?? ''];
  if (!reader) throw new TypeError(`no function ${JSON.stringify(one.function)}`);
  if (!isRecord(one.expected)) throw new TypeError('expected is not an object');
  const came = reader(one.input);
  const holds = Object.entries(one.expected).every(([key, value]) => isDeepStrictEqual(came[key], value));
  return holds ? null : { expected: JSON.stringify(one.expected), came: JSON.stringify(came) };
}

function textOf(input: unknown): string {
  return typeof input === 'string' ? input : stringField(input, 'text');
}
