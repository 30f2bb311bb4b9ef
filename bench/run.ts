import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../cli/terminal/io.ts';
import type { Sandbox } from '../client/http/openapi.ts';
import { MayflyClient } from '../client/mayfly-client.ts';
import { LibvirtHypervisor } from '../host/libvirt/driver.ts';
import { StateDir } from '../host/state-dir.ts';
import { connectStore } from '../store/connect.ts';
import { diffBinary } from '../worker/config/artifacts.mjs';
import type { Config } from '../worker/config/config.ts';
import { type Installation, startInstallation } from '../worker/installation.ts';
import { dataConverterOf, installationKeys } from '../worker/payloads/data-converter.ts';
import { recallServers } from '../worker/servers/remembered-servers.ts';
import { measureCommands } from './commands.ts';
import { measureDirect } from './direct.ts';
import { type DoorBench, measureDoor } from './door.ts';
import { measureDoors } from './doors/doors.ts';
import { measureFiles } from './files.ts';
import { type IdleOptions, measureIdle } from './idle.ts';
import { PlainSsh } from './plain-ssh.ts';
import { measurePools } from './pools.ts';
import { type Report, thisMachine } from './report.ts';
import { measureBurst, measureSagas } from './sagas.ts';
import { measureSnapshots, type SnapshotFigures } from './snapshots/snapshots.ts';

export interface BenchOptions {
  source: string;
  /** Whole lives, called directly and as sagas. */
  runs: number;
  /** So many lives, and requests of each kind, before those that are counted. */
  warmUp: { lives: number; requests: number };
  /** Requests to the API, of each kind. */
  requests: number;
  /** Ended sandboxes in the store beside those of the run. */
  stored: number;
  /** Sandboxes made at once, called directly and as sagas; 0 leaves it out. */
  burst: number;
  /** Claims of a pool's members, alone and beside so many that live, and rounds of claims at once; 0 leaves them out. */
  pools: { claims: number; alive: number[]; bursts: number };
  /** Snapshots of each kind, and in a row, on real machines; 0 leaves them out. */
  snapshots: { rounds: number; chain: number };
  /** Files sent and fetched, of each kind; 0 leaves out all that is done in a guest. */
  transfers: number;
  /** Runs of each door beside what it stands on; 0 leaves them out. Of those alone that have one of the words; none: of all. */
  doors: { runs: number; words: readonly string[] };
  /** Null leaves it out. */
  idle: Omit<IdleOptions, 'source'> | null;
}

/**
 * Measures everything in one installation of its own, part by part, and destroys all it made. What a part that fails has not
 * measured is said in the report, and the others go on.
 * @param keep is given what there is after each part
 */
export async function runBench(
  io: Io,
  config: Config,
  options: BenchOptions,
  keep: (report: Report) => Promise<void>,
): Promise<Report> {
  const { source, runs, requests, warmUp, stored, burst, idle } = options;
  const lives = { runs, warmUp: warmUp.lives };
  const report = emptyReport(config.hostKind);
  const part = async (name: string, measure: () => Promise<Partial<Report>>) => {
    io.note(name);
    try {
      Object.assign(report, await measure());
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      report.failed.push({ part: name, why });
      io.note(`  not measured: ${why}`);
    }
    await keep(report);
  };
  await part(`${runs} lives, step by step, without Temporal`, async () => ({
    direct: await measureDirect(config, source, lives, burst),
  }));
  if (idle) {
    await part(`starts, and sandboxes that do nothing: ${idle.sandboxes.join(', ')}`, async () => ({
      idle: await measureIdle(config, { source, ...idle }),
    }));
  }
  const installation = await startInstallation(config, (line) => io.note(`  ${line}`));
  try {
    const client = new MayflyClient({ baseUrl: installation.apiUrl, apiKey: installation.adminKey });
    report.host = await hostOf(client);
    const { doors } = options;
    if (doors.runs > 0) {
      const { apiUrl, adminKey: apiKey } = installation;
      const bench = { client, apiUrl, apiKey, source, ...doors };
      await part('the doors, each beside what it stands on', async () => ({ doors: await measureDoors(bench) }));
    }
    await part(`${runs} lives as sagas`, async () => ({ saga: await measureSagas(client, source, lives) }));
    if (burst > 0) await part(`${burst} at once`, async () => ({ burst: await measureBurst(client, source, burst) }));
    const { claims, alive, bursts } = options.pools;
    if (claims > 0) {
      const beside = `${claims} claims of a pool, alone and beside ${alive.join(', ') || 'none'}; ${bursts} rounds at once`;
      await part(beside, async () => ({
        pools: await measurePools({ client, source, runs: claims, alive, bursts }),
      }));
    }
    if (options.transfers > 0) {
      await part('commands and files, against the plain tools', async () => ({
        guest: await inSandbox(client, installation, source, (sandbox, plain) =>
          measureGuest(client, sandbox.id, plain, options),
        ),
      }));
    }
    const { rounds, chain } = options.snapshots;
    if (rounds > 0) {
      await part(`${rounds} snapshots of each kind, and ${chain} in a row`, async () => ({
        snapshots: await ofSnapshots(client, installation, config, options),
      }));
    }
    await part(`the API with ${stored} sandboxes in the store`, async () => ({
      door: {
        stored,
        spreads: await ofDoor(config, { client, source, runs: requests, warmUp: warmUp.requests, stored }),
      },
    }));
    return report;
  } finally {
    await installation.stop({ sandboxes: 'destroy' });
  }
}

function emptyReport(kind: string): Report {
  const nothing = {
    direct: null,
    saga: null,
    burst: null,
    pools: null,
    guest: null,
    snapshots: null,
    door: null,
    idle: null,
    doors: null,
  };
  const host = { kind, isolation: 'unknown' };
  return { at: new Date().toISOString(), machine: thisMachine(), host, ...nothing, failed: [] };
}

async function hostOf(client: MayflyClient): Promise<Report['host']> {
  const [host] = (await client.listHosts()).items;
  if (!host) throw new Error('the host did not describe itself');
  return { kind: host.kind, isolation: host.isolation };
}

/** Makes a sandbox, with the plain tools connected to it, and destroys it. */
async function inSandbox<T>(
  client: MayflyClient,
  installation: Installation,
  source: string,
  use: (sandbox: Sandbox, plain: PlainSsh) => Promise<T>,
): Promise<T> {
  const sandbox = await client.createSandbox({ source }, { waitSeconds: 240 });
  if (!sandbox.ssh) throw new Error(`${sandbox.id} is ${sandbox.state}: there is nothing to measure`);
  const scratch = await mkdtemp(join(tmpdir(), 'mayfly-bench-'));
  const plain = new PlainSsh(sandbox.ssh, join(installation.describe().credentialsDir, sandbox.id), scratch);
  try {
    await plain.open();
    try {
      return await use(sandbox, plain);
    } finally {
      await plain.close();
    }
  } finally {
    await rm(scratch, { recursive: true });
    await client.destroySandbox(sandbox.id, { waitSeconds: 240 });
  }
}

async function measureGuest(client: MayflyClient, sandboxId: string, plain: PlainSsh, options: BenchOptions) {
  const commands = await measureCommands(client, sandboxId, plain, options.requests);
  return { commands, files: await measureFiles(client, sandboxId, plain, options.transfers) };
}

async function ofSnapshots(
  client: MayflyClient,
  installation: Installation,
  config: Config,
  { source, snapshots: { rounds, chain } }: BenchOptions,
): Promise<SnapshotFigures | null> {
  const { libvirtUri: uri, sandboxesDir } = installation.describe();
  const diffProgram = diffBinary();
  if (uri === null) return null;
  if (diffProgram === null) throw new Error('the program that compares disks is not built: run `npm run setup`');
  const host = new LibvirtHypervisor({ uri, state: new StateDir(config.stateDir), diffProgram });
  return await measureSnapshots({ client, host, sandboxesDir, source, rounds, chain });
}

async function ofDoor(config: Config, options: Omit<DoorBench, 'store' | 'temporal'>) {
  const servers = await recallServers(config.stateDir);
  if (!servers) throw new Error('the installation did not say where its servers are');
  const keys = await installationKeys(config);
  const dataConverter = dataConverterOf(keys);
  const temporal = { address: servers.temporalAddress, namespace: config.temporalNamespace, dataConverter };
  const store = await connectStore(servers.storeUri, { keys });
  try {
    return await measureDoor({ ...options, store, temporal });
  } finally {
    await store.close();
  }
}
