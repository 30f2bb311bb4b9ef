import { describe, expect, it } from 'vitest';
import { subnetOf } from '../../../host/libvirt/network/network-plan.ts';

describe('a subnet', () => {
  it('gives its first address to the host and the rest to guests', () => {
    expect(subnetOf('10.213.0.0/20')).toEqual({
      gateway: '10.213.0.1',
      prefix: 20,
      firstLease: '10.213.0.2',
      lastLease: '10.213.15.254',
    });
    expect(subnetOf('192.168.7.248/29')).toMatchObject({ gateway: '192.168.7.249', lastLease: '192.168.7.254' });
    expect(subnetOf('172.31.0.0/16')).toMatchObject({ firstLease: '172.31.0.2', lastLease: '172.31.255.254' });
  });

  it.each([
    ['not on its boundary', '10.213.1.0/20'],
    ['too large', '10.0.0.0/15'],
    ['too small', '10.0.0.0/30'],
    ['without a prefix', '10.0.0.0'],
    ['with an empty prefix', '10.0.0.0/'],
    ['with text after it', '10.0.0.0/24 or so'],
    ['a name', 'mayfly/24'],
    ['IPv6', 'fd00::/20'],
    ['too few octets', '10.0/16'],
    ['an octet too large', '256.0.0.0/16'],
  ])('is refused: %s', (_, cidr) => {
    expect(() => subnetOf(cidr)).toThrow(RangeError);
  });
});
