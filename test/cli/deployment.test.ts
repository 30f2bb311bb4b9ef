import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { savedMemoryFolder } from '../../host/libvirt/client/saved-memory.ts';
import { readConfig } from '../../worker/config/config.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

function sourcesBelow(folder: string): string[] {
  const entries = readdirSync(new URL(folder, ROOT), { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.name.endsWith('.ts')).map((entry) => join(entry.parentPath, entry.name));
}

const service = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
  volumes: z.array(z.string()).optional(),
  pid: z.string().optional(),
  ports: z.array(z.string()).optional(),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
});
const compose = z
  .object({ services: z.record(z.string(), service), volumes: z.record(z.string(), z.unknown()) })
  .parse(parse(read('docker-compose.yml'), { merge: true }));
const services = Object.entries(compose.services);

describe('docker-compose.yml', () => {
  it('waits only for existing services with a reachable condition', () => {
    for (const [name, { depends_on: needs = {} }] of services) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        const target = compose.services[needed];
        expect(target, `${name} needs ${needed}`).toBeDefined();
        if (condition === 'service_healthy') expect(target?.healthcheck, `${needed} is asked for health`).toBeDefined();
      }
    }
  });

  it('mounts declared volumes and existing files', () => {
    for (const [, { volumes = [] }] of services) {
      for (const source of volumes.map((volume) => volume.split(':')[0] ?? '')) {
        if (source.startsWith('${')) continue; // set by the operator, from the environment
        if (source.startsWith('./')) expect(existsSync(fileURLToPath(new URL(source, ROOT))), source).toBe(true);
        else if (!source.startsWith('/')) expect(compose.volumes).toHaveProperty(source);
      }
    }
  });

  it('mounts into the host worker all that a proof inspects: leases, saved memory, and the processes of the machine', () => {
    const { volumes = [], pid } = compose.services['host'] ?? {};
    const leases = '/var/lib/libvirt/dnsmasq'; // default of LibvirtOptions.leaseFolder
    for (const folder of [leases, savedMemoryFolder(leases), '/run/libvirt', '/var/lib/mayfly']) {
      expect(volumes.map((volume) => volume.replace(/:ro$/, ''))).toContain(`${folder}:${folder}`);
    }
    expect(volumes).not.toContain(`${savedMemoryFolder(leases)}:${savedMemoryFolder(leases)}:ro`); // the worker removes it
    expect(pid).toBe('host');
  });

  it('admits only clients with a certificate to Temporal, and gives each process its own', () => {
    const temporal = compose.services['temporal']?.environment ?? {};
    expect(temporal['TEMPORAL_TLS_REQUIRE_CLIENT_AUTH']).toBe('true');
    const folder = (name: string, { volumes = [] }: z.infer<typeof service>) =>
      volumes
        .map((volume) => /example.env\}\/(.+):\/(?:proxy-)?certificates:ro$/.exec(volume)?.[1])
        .filter((own) => own !== undefined)
        .map((own) => [name, own.replace(/\$\{MAYFLY_HOST_ID:.*\}/, '<id>')]);
    const given = services.flatMap(([name, each]) => folder(name, each));
    expect(given).toEqual([
      ['temporal', 'server'],
      ['temporal-namespace', 'admin'],
      ['temporal-ui', 'ui'],
      ['proxy', 'proxy'],
      ['proxy', 'proxy-server'],
      ['api', 'api'],
      ['control', 'control'],
      ['host', 'host-<id>'],
    ]);
    const script = read('deploy/temporal/certificates.sh');
    expect(script).toContain('set -- server ui admin control proxy proxy-server api');
  });

  it('connects the API and hosts to the proxy, and only fully trusted processes to Temporal', () => {
    const spoken = services.flatMap(([name, { environment = {} }]) => {
      const address = environment['TEMPORAL_ADDRESS'];
      return address === undefined ? [] : [[name, address]];
    });
    expect(Object.fromEntries(spoken)).toEqual({
      'temporal-namespace': 'temporal:7233',
      'temporal-ui': 'temporal:7233',
      proxy: 'temporal:7233',
      api: 'proxy:7234',
      control: 'temporal:7233',
      host: '127.0.0.1:7234',
    });
    expect(compose.services['temporal']?.ports).toBeUndefined();
    expect(compose.services['proxy']?.ports).toEqual(['127.0.0.1:7234:7234']);
  });

  it('gives each process its own user of the store, created before it starts', () => {
    const makes = compose.services['mongodb-users']?.environment ?? {};
    for (const name of Object.keys(JSON.parse(read('deploy/mongodb/rights.json')) as object)) {
      const { environment = {}, depends_on: needs = {} } = compose.services[name] ?? {};
      const variable = `MONGODB_${name.toUpperCase()}_PASSWORD`;
      expect(environment['MONGODB_URI']).toMatch(
        new RegExp(`^mongodb://${name}:\\$\\{${variable}:.*@[a-z0-9.]+:27017/mayfly$`),
      );
      expect(JSON.stringify(environment)).not.toContain('MONGODB_PASSWORD');
      expect(makes).toHaveProperty(variable);
      expect(needs['mongodb-users']?.condition).toBe('service_completed_successfully');
    }
  });

  it('listens on loopback only, pins every image, and names no registry', () => {
    for (const [name, { ports = [], image }] of services) {
      for (const port of ports) expect(port, name).toMatch(/^127\.0\.0\.1:/);
      expect(image, name).toMatch(/^[a-z-]+(?:\/[a-z-]+)?:\d/);
    }
  });

  it('has no secret: every password comes from the environment and has no default', () => {
    for (const [name, { environment = {} }] of services) {
      for (const [variable, value] of Object.entries(environment)) {
        const secret = /PASSWORD|PWD|_URI/.test(variable) && variable !== 'MAYFLY_LIBVIRT_URI';
        if (secret) expect(value, `${name} ${variable}`).toMatch(/\$\{[A-Z_]+:\?/);
      }
    }
    const named = [...read('docker-compose.yml').matchAll(/\$\{([A-Z_]+)/g)].map(([, variable]) => variable);
    for (const variable of new Set(named))
      expect(read('deploy/example.env')).toMatch(new RegExp(`^${variable}=$`, 'm'));
  });

  it.each(['api', 'control', 'host', 'proxy'])('gives %s a valid environment', (name) => {
    const { command, environment = {} } = compose.services[name] ?? {};
    expect(command).toEqual(['serve', name]);
    const config = readConfig({ ...environment, ...(environment['MAYFLY_HOST_ID'] && { MAYFLY_HOST_ID: 'kvm-1' }) });
    expect(config.mongodbUri).toBeDefined();
    expect(config.temporalTls).toMatchObject({ cert: '/certificates/cert.pem', key: '/certificates/key.pem' });
    expect(config.temporalAddress).toBeDefined();
  });
});

describe('deploy/Dockerfile', () => {
  /** Debian packages of a host worker's programs; null: in every Debian. */
  const PACKAGES: Record<string, string | null> = {
    cp: null,
    du: null,
    rm: null,
    dhcp_release: 'dnsmasq-utils',
    flock: 'util-linux',
    genisoimage: 'genisoimage',
    ip: 'iproute2',
    nft: 'nftables',
    nsenter: 'util-linux',
    'qemu-img': 'qemu-utils',
    setpriv: 'util-linux',
    'ssh-keygen': 'openssh-client',
    unshare: 'util-linux',
    virsh: 'libvirt-clients',
  };

  it('has every program that a host worker runs', () => {
    const dockerfile = read('deploy/Dockerfile');
    const sources = ['host', 'worker/machine', 'ca'].flatMap(sourcesBelow);
    const run = sources.flatMap((path) => [...read(path).matchAll(/(?<!\.)\b(?:exec|spawn)\(\s*'([a-z][\w.-]+)'/g)]);
    const programs = new Set(run.map(([, program = '']) => program));
    expect([...programs].toSorted()).toEqual(Object.keys(PACKAGES).toSorted());
    for (const name of Object.values(PACKAGES)) if (name !== null) expect(dockerfile).toContain(` ${name} `);
    expect(dockerfile).toContain('--only guest,diff');
  });
});

it("Temporal's dynamic configuration has the same values as the dev server's", () => {
  const settings = z
    .record(z.string(), z.array(z.object({ value: z.number() })))
    .parse(parse(read('deploy/temporal/dynamicconfig.yaml')));
  const devServer = read('worker/servers/temporal-server.ts');
  expect(Object.keys(settings)).not.toHaveLength(0);
  for (const [name, [only]] of Object.entries(settings)) expect(devServer).toContain(`'${name}=${only?.value}'`);
});
