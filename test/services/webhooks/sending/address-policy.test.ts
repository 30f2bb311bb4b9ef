import { describe, expect, it } from 'vitest';
import { AddressPolicy, cidrProblem } from '../../../../services/webhooks/sending/address-policy.ts';
import { endpointUrlProblem } from '../../../../services/webhooks/sending/endpoint-url.ts';
import { type Dial, post } from '../../../../services/webhooks/sending/post.ts';

/** Addresses in URL form that are never reached. */
const NEVER = `
  127.0.0.1 127.255.255.254 0x7f000001 0x7f.1 2130706433 0177.0.0.1 017700000001 127.1 0.0.0.0 0 10.0.0.1
  10.255.255.255 100.64.0.1 100.127.255.254 100.100.100.200 168.63.129.16 169.254.0.1 169.254.169.254 0xa9fea9fe
  2852039166 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.7
  203.0.113.7 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 [::] [::1] [0:0:0:0:0:0:0:1] [::127.0.0.1]
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:8.8.8.8] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1]
  [64:ff9b::a9fe:a9fe] [64:ff9b:1::1] [2002:7f00:1::] [2002:a9fe:a9fe::] [2001::1] [2001:db8::1] [3fff::1]
  [fe80::1] [fec0::1] [fc00::1] [fd00::1] [fd00:ec2::254] [fd20:ce::254] [ff02::1] [100::1] [5f00::1] [4000::1]
`
  .trim()
  .split(/\s+/);
const REACHED = ['8.8.8.8', '1.1.1.1', '100.63.255.255', '172.32.0.1', '[2606:4700:4700::1111]', '[2a00::1]'];

const body = Buffer.from('{}');
const notDialled: Dial = (address) => {
  throw new Error(`${address} was connected to`);
};

describe('a special-purpose address', () => {
  it.each(NEVER)('%s is never connected to', async (host) => {
    const dialled: string[] = [];
    const dial: Dial = (address, port) => {
      dialled.push(address);
      return notDialled(address, port);
    };
    const posted = { url: `http://${host}:8080/`, headers: {}, body };
    const outcome = await post(posted, { policy: new AddressPolicy(), dial });
    expect(dialled).toEqual([]);
    expect(outcome).toMatchObject({
      isTaken: false,
      status: null,
      reason: expect.stringMatching(/^nothing was sent: /),
    });
  });

  it.each(REACHED)('%s is connected to', async (host) => {
    const posted = { url: `https://${host}/`, headers: {}, body };
    const outcome = await post(posted, { policy: new AddressPolicy(), dial: notDialled });
    expect(outcome.reason).toBe(`${host.replace(/[[\]]/g, '')} was connected to`);
  });
});

it('a name is judged by its current addresses, and exactly these are connected to (case 42)', async () => {
  const answers = [['93.184.216.34'], ['10.0.0.7'], ['10.0.0.7', '93.184.216.34'], []];
  const dialled: string[] = [];
  const network = {
    policy: new AddressPolicy(),
    resolve: async () => answers.shift() ?? [],
    dial: (address: string, port: number) => {
      dialled.push(address);
      return notDialled(address, port);
    },
  };
  const posted = { url: 'https://example.com/', headers: {}, body };
  const reasons = [];
  for (const _each of [1, 2, 3, 4]) reasons.push((await post(posted, network)).reason);
  expect(dialled).toEqual(['93.184.216.34', '93.184.216.34']);
  expect(reasons[1]).toBe('nothing was sent: 10.0.0.7 is private, and the installation does not allow it');
  expect(reasons[3]).toBe('nothing was sent: example.com has no address');
});

describe('allowed addresses', () => {
  it.each([
    ['127.0.0.0/8', '127.0.0.1', true],
    ['127.0.0.0/8', '::ffff:127.0.0.1', false],
    ['::ffff:0:0/96', '::ffff:127.0.0.1', true],
    ['10.0.0.0/8', '192.168.0.1', false],
    ['fd00::/8', 'fd12::1', true],
    ['169.254.0.0/16', '169.254.169.254', false],
    ['169.254.0.0/16', '169.254.1.1', true],
    ['0.0.0.0/0', '169.254.169.254', false],
    ['::/0', '::ffff:169.254.169.254', false],
    ['::/0', '64:ff9b::a9fe:a9fe', false],
    ['::/0', '2002:a9fe:a9fe::1', false],
    ['::/0', 'fd00:ec2::254', false],
    ['::/0', '::1', true],
  ])('%s allows %s: %s', (cidr, address, isReached) => {
    expect(new AddressPolicy([cidr]).refusalOf(address) === null).toBe(isReached);
  });

  it.each(['10.0.0.0', '10.0.0.0/33', '::/129', 'x/8', '10.0.0.0/', '/8', 'fe80::1%eth0/64'])(
    '%s is not a CIDR',
    (text) => {
      expect(cidrProblem(text)).not.toBeNull();
      expect(() => new AddressPolicy([text])).toThrow(RangeError);
    },
  );
});

it('an address with a zone, or an invalid one, is refused', () => {
  const policy = new AddressPolicy(['::/0', '0.0.0.0/0']);
  for (const text of ['fe80::1%eth0', 'localhost', '', '127.1']) expect(policy.refusalOf(text)).not.toBeNull();
});

describe('a URL', () => {
  it.each([
    'ftp://example.com/',
    'https:example.com',
    'https://',
    'https:///x',
    'example.com',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://:password@example.com/',
    'https://example.com/#part',
    'https://example.com/#',
    'http://[fe80::1%25eth0]/',
    'http://[fe80::1%eth0]/',
    'http://example.com:22/',
    'http://example.com:6379/',
    'http://example.com:0/',
    'http://example.com:99999/',
    'http://exa mple.com/',
    'http://example.com\\@evil.com/',
    'http://example.com/\n',
    `https://example.com/${'x'.repeat(2_048)}`,
  ])('%j is not valid for an endpoint', (text) => {
    expect(endpointUrlProblem(text)).not.toBeNull();
  });

  it.each(['https://example.com', 'HTTP://Example.com:8080/a?b=c', 'https://[2606:4700::1]/x', 'http://localhost./'])(
    '%s is valid',
    (text) => {
      expect(endpointUrlProblem(text)).toBeNull();
    },
  );
});
