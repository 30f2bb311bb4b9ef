import { child, childElements, type Element, element, removeChildren } from '../client/xml.ts';
import { portName } from '../network/ports.ts';

/** Children of an interface that are guest hardware; others (addresses, filters, host devices) are the source's. */
const KEPT = ['model', 'driver', 'mtu', 'bandwidth', 'boot', 'rom', 'link'];
/** Element that isolates a port of its bridge; on a kept network it stays. */
const APART = 'port';
/** Interface types whose other settings fit a network's interface too. */
const LIKE_A_NETWORK = ['network', 'bridge', 'ethernet'];

/**
 * Gives each interface its own MAC and an isolated port of the bridge; a source without an interface gets one.
 * @param network null keeps each interface where it is, with a new MAC
 */
export function replaceInterfaces(devices: Element, network: string | null, mac: (nic: number) => string): void {
  const interfaces = childElements(devices, 'interface');
  if (interfaces.length === 0 && network !== null) {
    const made = element('interface', {}, element('model', { type: 'virtio' }));
    devices.children.push(made);
    interfaces.push(made);
  }
  for (const [nic, node] of interfaces.entries()) replaceInterface(node, network, mac(nic));
}

function replaceInterface(node: Element, network: string | null, mac: string): void {
  const type = node.attributes['type'] ?? 'network';
  const names = LIKE_A_NETWORK.includes(type) || network === null ? KEPT : ['model', 'mtu', 'boot'];
  const kept = childElements(node).filter((c) => names.includes(c.name) || (network === null && c.name === APART));
  const address = element('mac', { address: mac });
  if (network === null) {
    const place = child(node, 'source');
    node.children = [address, ...(place ? [place] : []), ...kept];
    return;
  }
  node.attributes = { type: 'network' };
  const port = [element('target', { dev: portName(mac) }), element('port', { isolated: 'yes' })];
  node.children = [address, element('source', { network }), ...kept, ...port];
  if (!child(node, 'model')) node.children.push(element('model', { type: 'virtio' }));
}

/** Connects or disconnects the cable of every interface. */
export function plug(devices: Element, isPlugged: boolean): void {
  for (const node of childElements(devices, 'interface')) {
    removeChildren(node, ['link']);
    if (!isPlugged) node.children.push(element('link', { state: 'down' }));
  }
}
