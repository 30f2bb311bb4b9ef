// @ts-check
/**
 * Lets tests in a network namespace reach a server on the machine's loopback: a Unix socket crosses the border, and on
 * each side a relay joins it to the same TCP address. Runs as a program for the inner side:
 *
 *     node relay.mjs '{"listen":{"host":"127.0.0.1","port":7233},"to":{"path":"/…/relay"}}'
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, isIP } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/** @typedef {{ path: string } | { host: string, port: number }} Endpoint */
/** @typedef {{ host: string, port: number }} Address */

/**
 * Returns the servers that the environment names.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Address[]}
 */
export function namedServers(env) {
  /** @type {Address[]} */
  const servers = [];
  const temporal = env['TEMPORAL_ADDRESS'];
  if (temporal) servers.push(addressOf(temporal, 7233));
  const hosts = /^mongodb:\/\/(?:[^@/]*@)?([^/?]+)/.exec(env['MONGODB_URI'] ?? '')?.[1];
  if (env['MONGODB_URI'] && hosts === undefined)
    throw new Error('MONGODB_URI must begin with mongodb:// for tests: they resolve no names');
  servers.push(...(hosts?.split(',') ?? []).map((host) => addressOf(host, 27017)));

  const far = servers.find(
    ({ host }) => host !== 'localhost' && host !== '::1' && !(isIP(host) === 4 && host.startsWith('127.')),
  );
  if (far) {
    throw new Error(
      `tests run in a network namespace and cannot reach ${far.host}: forward it to this machine's loopback, for example with \`ssh -L\``,
    );
  }
  return servers;
}

/**
 * @param {string} text `host:port`, `[host]:port` or `host`
 * @param {number} usualPort
 * @returns {Address}
 */
function addressOf(text, usualPort) {
  const { hostname, port } = new URL(`tcp://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || usualPort) };
}

/**
 * Relays one server into a namespace until the returned function is called.
 * @param {Address} server
 * @param {import('./namespace.mjs').TestPlace} place
 * @returns {Promise<() => Promise<void>>}
 */
export async function relayInto(server, place) {
  const border = { path: join(place.root, `relay-${server.port}`) };
  const outer = await relay(border, server);
  const args = JSON.stringify({ listen: server, to: border });
  const [program = '', ...rest] = place.inside([process.execPath, fileURLToPath(import.meta.url), args]);
  const inner = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(inner, 'close');
  const [said] = await Promise.race([once(inner.stdout, 'data'), ended]);
  if (!Buffer.isBuffer(said)) throw new Error(`the relay of ${server.host}:${server.port} did not start`);
  return async () => {
    inner.kill();
    await ended;
    outer.close();
  };
}

/**
 * @param {Endpoint} from
 * @param {Endpoint} to
 */
async function relay(from, to) {
  const listener = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ ...to, allowHalfOpen: true });
    // When one side breaks off, the other does, too; clients need no other report.
    Promise.all([pipeline(near, far), pipeline(far, near)]).catch(() => {
      near.destroy();
      far.destroy();
    });
  });
  listener.listen(from);
  await once(listener, 'listening');
  return listener;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { listen, to } = JSON.parse(process.argv[2] ?? '');
  await relay(listen, to);
  process.stdout.write('ready\n');
}
