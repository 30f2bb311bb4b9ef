import { isLive } from '../../model/host.ts';
import { OPEN_STATES } from '../../model/sandbox/sandbox-state.ts';
import { inspectStore, type StoreInspection } from '../../store/look.ts';
import { type Check, fault, NotApplicable, note, type Probe, passed } from './check.ts';
import type { ProbeContext } from './surroundings.ts';

/** Latency of a ping above which the store slows every workflow, ms; a read of the API takes 10 ms. */
const SLOW_MS = 500;
/**
 * Maximum clock skew, ms: half of the 30 s after which hosts count as silent. Certificates are back-dated by a minute.
 */
const SKEW_MS = 15_000;
/** Wait after which a workflow needs an operator, ms. */
const STUCK_MS = 600_000;

/** Name of the check that reports a store written by another version of Mayfly. */
export const LAYOUT_MISMATCH = 'store layout';

/** Checks the store. @param isNamed false: the store belongs to a `mayfly up`, which need not run */
export function storeProbe(uri: string | undefined, isNamed: boolean): Probe {
  return {
    name: 'store is fit',
    remedy: 'Start it, or correct MONGODB_URI.',
    look: async () => {
      if (uri === undefined) throw new NotApplicable('there is no store here yet');
      try {
        return judgeStore(await inspectStore(uri));
      } catch (error) {
        if (isNamed) throw error;
        throw new NotApplicable('`mayfly up`, which has a store, does not run', { cause: error });
      }
    },
  };
}

export function judgeStore({ layout, readOnly, sealedWith, answersInMs, aheadMs }: StoreInspection): Check[] {
  return [
    readOnly === null
      ? passed('store is fit', `it takes writes, and answers in ${answersInMs} ms`)
      : fault(
          'store is fit',
          `it takes no writes: ${readOnly}`,
          'Name its primary, and a user with readWrite, in MONGODB_URI.',
        ),
    ...(answersInMs > SLOW_MS
      ? [
          fault(
            'store is quick',
            `it took ${answersInMs} ms to say hello`,
            'See its log (`<state>/store/store.log`) and the disk it is on: `iostat -x 1`.',
          ),
        ]
      : []),
    ...(layout === 'other'
      ? [
          fault(
            LAYOUT_MISMATCH,
            'another version of Mayfly has laid it out',
            'Run that version, or upgrade: start this one with `mayfly up` or `mayfly serve control`.',
          ),
        ]
      : []),
    ...(layout === 'none' ? [] : [encryption(sealedWith)]),
    ...(aheadMs === null ? [] : [clock('the store', aheadMs)]),
  ];
}

function encryption(keyId: string | null): Check {
  const name = 'store encryption';
  if (keyId !== null) return passed(name, `what callers say and guests print is written with the key ${keyId}`);
  const found = 'not known: no control worker has started with it';
  return note(name, found, 'Start it: mayfly up, mayfly serve control');
}

function clock(whose: string, aheadMs: number): Check {
  const found = `${whose} is ${Math.abs(aheadMs / 1_000).toFixed(1)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine`;
  if (Math.abs(aheadMs) <= SKEW_MS) return passed('clocks', found);
  return fault('clocks', found, 'Set both by NTP: `timedatectl set-ntp true`, then `timedatectl timesync-status`.');
}

/** Checks hosts by their last descriptions. */
export function hostsProbe(surroundings: ProbeContext): Probe {
  return {
    name: 'hosts',
    remedy: 'First mend the store.',
    look: async () => {
      const hosts = await (await surroundings.store()).hosts.list();
      const { hostId } = surroundings.config;
      return hosts.flatMap((host): Check[] => {
        const aheadMs = Date.parse(host.lastSeenAt) - Date.now();
        if (aheadMs > SKEW_MS) return [clock(`the host ${host.id}`, aheadMs)];
        if (isLive(host)) return [passed(`host ${host.id}`, 'its worker describes it')];
        const isHere = host.id === hostId;
        // When nothing runs on purpose, as after `mayfly up`, its sandboxes wait for the next start.
        if (isHere && !surroundings.isServed && surroundings.config.temporalAddress === undefined) return [];
        const found = `its worker was last heard of at ${host.lastSeenAt}; sandboxes on it: ${host.promised.sandboxes}`;
        const where = isHere ? 'here' : `on ${host.id}`;
        return [
          fault(
            `host ${host.id}`,
            found,
            `Start it ${where}: \`systemctl start mayfly-host\`, or \`mayfly serve host\`.`,
          ),
        ];
      });
    },
  };
}

/** Finds sandboxes whose workflow has been waiting for long. */
export function waitingProbe(surroundings: ProbeContext): Probe {
  return {
    name: 'sagas',
    remedy: 'First mend the store.',
    look: async () => {
      const alive = await (await surroundings.store()).sandboxes.all(OPEN_STATES);
      const since = new Date(Date.now() - STUCK_MS).toISOString();
      // A sandbox suspended for space is listed apart: an operator must free space.
      const stuck = alive.filter(
        ({ waitingFor, updatedAt, stalledBy }) => waitingFor !== null && !stalledBy && updatedAt < since,
      );
      if (stuck.length === 0) return [passed('sagas', `none of ${alive.length} has waited for more than 10 minutes`)];
      return stuck.map(({ id, state, waitingFor, updatedAt }) =>
        fault(
          `saga of ${id}`,
          `it is ${state} and has waited since ${updatedAt}: ${waitingFor}`,
          `Mend what it waits for; it goes on by itself. Its steps: \`mayfly audit show ${id}\`, and \`sandbox/${id}\` in the Temporal UI.`,
        ),
      );
    },
  };
}
