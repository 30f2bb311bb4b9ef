import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { savedMemoryFolder } from '../../host/libvirt/memory/saved-memory.ts';
import { readConfig } from '../../worker/config/config.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

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
  it('waits only for services that are there and can come to that state', () => {
    for (const [name, { depends_on: needs = {} }] of services) {
      for (const [needed, { condition }] of Object.entries(needs)) {
        const target = compose.services[needed];
        expect(target, `${name} needs ${needed}`).toBeDefined();
        if (condition === 'service_healthy') expect(target?.healthcheck, `${needed} is asked for health`).toBeDefined();
      }
    }
  });

  it('mounts declared volumes and files that are there', () => {
    for (const [, { volumes = [] }] of services) {
      for (const source of volumes.map((volume) => volume.split(':')[0] ?? '')) {
        if (source.startsWith('./')) expect(existsSync(fileURLToPath(new URL(source, ROOT))), source).toBe(true);
        else if (!source.startsWith('/')) expect(compose.volumes).toHaveProperty(source);
      }
    }
  });

  it('shows the host worker all that a proof looks at: leases, saved memory, and the processes of the machine', () => {
    const { volumes = [], pid } = compose.services['host'] ?? {};
    const leases = '/var/lib/libvirt/dnsmasq'; // the default of LibvirtOptions.leaseFolder
    for (const folder of [leases, savedMemoryFolder(leases), '/run/libvirt', '/var/lib/mayfly']) {
      expect(volumes.map((volume) => volume.replace(/:ro$/, ''))).toContain(`${folder}:${folder}`);
    }
    expect(volumes).not.toContain(`${savedMemoryFolder(leases)}:${savedMemoryFolder(leases)}:ro`); // it is removed there
    expect(pid).toBe('host');
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

  it.each(['api', 'control', 'host'])('gives %s an environment that it takes', (name) => {
    const { command, environment = {} } = compose.services[name] ?? {};
    expect(command).toEqual(['serve', name]);
    const config = readConfig({ ...environment, ...(environment['MAYFLY_HOST_ID'] && { MAYFLY_HOST_ID: 'kvm-1' }) });
    expect(config.mongodbUri).toBeDefined();
    expect(config.temporalAddress).toBeDefined();
  });
});

describe("Temporal's dynamic configuration", () => {
  it('sets what the dev server is given too, to the same values', () => {
    const settings = z
      .record(z.string(), z.array(z.object({ value: z.number() })))
      .parse(parse(read('deploy/temporal/dynamicconfig.yaml')));
    const devServer = read('worker/servers/temporal-server.ts');
    expect(Object.keys(settings)).not.toHaveLength(0);
    for (const [name, [only]] of Object.entries(settings)) expect(devServer).toContain(`'${name}=${only?.value}'`);
  });
});
