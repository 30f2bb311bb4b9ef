/** Frames are hexadecimal digits. A `?` is a digit that varies with each send (forge/main.go). */

export const BROADCAST = 'ff:ff:ff:ff:ff:ff';
export const RANDOM_MAC = '52:54:00:??:??:??';

const hex = (value: number, bytes: number) => value.toString(16).padStart(bytes * 2, '0');
const mac = (text: string) => text.replaceAll(':', '');
/** Encodes octets in decimal; `??` varies with each send. */
export const ip = (text: string) =>
  text
    .split('.')
    .map((octet) => (octet === '??' ? '??' : hex(Number(octet), 1)))
    .join('');

export interface Ends {
  from: string;
  to?: string;
}

export function ethernet({ from, to = BROADCAST }: Ends, type: number, payload: string): string {
  return mac(to) + mac(from) + hex(type, 2) + payload;
}

export interface Arp {
  operation: number;
  sender: string;
  senderMac: string;
  target: string;
  head?: string;
  type?: number;
}

/** Builds an ARP frame (RFC 826). @param arp.head hardware and protocol type, and their lengths */
export function arp(ends: Ends, { operation, sender, senderMac, target, head = '000108000604', type = 0x0806 }: Arp) {
  const body = head + hex(operation, 2) + mac(senderMac) + ip(sender) + mac('00:00:00:00:00:00') + ip(target);
  return ethernet(ends, type, body);
}

export interface Packet {
  source: string;
  destination: string;
  /** Flags and offset of a fragment. */
  fragment?: number;
  protocol?: number;
}

export function ipv4(
  ends: Ends,
  { source, destination, fragment = 0, protocol = 17 }: Packet,
  payload: string,
): string {
  const length = hex(20 + payload.length / 2, 2);
  const header = (sum: string) =>
    `4500${length}0001${hex(fragment, 2)}40${hex(protocol, 1)}${sum}${ip(source)}${ip(destination)}`;
  return ethernet(ends, 0x0800, header(checksum(header('0000'))) + payload);
}

/** Builds a UDP packet without a checksum, which UDP allows. */
export function udp(from: number, to: number, payload = '00'): string {
  return `${hex(from, 2)}${hex(to, 2)}${hex(8 + payload.length / 2, 2)}0000${payload}`;
}

export interface Dhcp {
  /** 1 discover, 3 request, 4 decline, 7 release. */
  type: number;
  hardware: string;
  head?: string;
  clientAddress?: string;
  relay?: string;
  transaction?: string;
  options?: string;
}

/** Builds a message of RFC 2131 from a client's port to a server's. @param message.head op, htype, hlen, hops */
export function dhcp(message: Dhcp): string {
  const { type, hardware, head = '01010600', clientAddress = '0.0.0.0', relay = '0.0.0.0' } = message;
  const { transaction = '00000001', options = '' } = message;
  const addresses = ip(clientAddress) + ip('0.0.0.0') + ip('0.0.0.0') + ip(relay);
  const names = '00'.repeat(10 + 64 + 128);
  return `${head}${transaction}00000000${addresses}${mac(hardware)}${names}638253633501${hex(type, 1)}${options}ff`;
}

/** Computes the checksum of RFC 1071; varying digits count as zero. */
function checksum(header: string): string {
  let sum = 0;
  for (let at = 0; at < header.length; at += 4)
    sum += Number.parseInt(header.slice(at, at + 4).replaceAll('?', '0'), 16);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return hex(~sum & 0xffff, 2);
}
