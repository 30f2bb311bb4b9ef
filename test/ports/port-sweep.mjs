// @ts-check
/**
 * Tries all TCP ports of an address, and prints the open ones as JSON:
 *
 *     node port-sweep.mjs ADDRESS
 *
 * Separate process, so that it can run in another network namespace.
 *
 * @module
 */
import { connect } from 'node:net';

const all = 65_535;
const atOnce = 1_000;
/** Timeout after which a port counts as closed, ms. */
const silentMs = 2_000;

const [, , host = ''] = process.argv;

/** @type {(port: number) => Promise<boolean>} */
const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    /** @param {boolean} is */
    const done = (is) => {
      socket.destroy();
      resolve(is);
    };
    socket.setTimeout(silentMs, () => done(false));
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });

/** @type {number[]} */
const open = [];
let next = 1;
const worker = async () => {
  for (let port = next++; port <= all; port = next++) if (await answers(port)) open.push(port);
};
await Promise.all(Array.from({ length: atOnce }, worker));
process.stdout.write(JSON.stringify(open.sort((a, b) => a - b)));
