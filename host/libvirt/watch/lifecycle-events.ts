import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Bell } from '../../os/bell.ts';
import { mayReportEnd } from '../output/machine-states.ts';

/** Pause before a restart, while libvirtd is down or restarts. Milliseconds. */
const AGAIN_AFTER_MS = 1_000;
const ARGV = ['event', '--event', 'lifecycle', '--loop', '--timestamp'];

/**
 * Follows libvirt's lifecycle events with one long-lived `virsh event`, and yields when one may report an end. It is
 * restarted when it ends, e.g. with its libvirtd, and yields then too: events may have been missed.
 */
export async function* lifecycleEvents(uri: string, signal: AbortSignal): AsyncGenerator<void> {
  const bell = new Bell();
  const listening = listenOn(uri, bell, signal);
  try {
    yield* bell.rings(signal);
  } finally {
    await listening;
  }
}

async function listenOn(uri: string, bell: Bell, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    bell.ring();
    await listen(uri, bell, signal);
    await sleep(AGAIN_AFTER_MS, undefined, { signal }).catch(() => undefined); // the abort ends the loop
  }
}

/** Resolves when virsh has ended, or could not be run. */
async function listen(uri: string, bell: Bell, signal: AbortSignal): Promise<void> {
  const argv = ['--pdeathsig', 'KILL', '--', 'virsh', '--quiet', '--connect', uri, ...ARGV];
  const child = spawn('setpriv', argv, {
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'ignore'],
    signal,
    killSignal: 'SIGKILL',
  });
  child.on('error', () => undefined); // not run or aborted: periodic polls notice an end all the same
  const closed = once(child, 'close').catch(() => undefined); // same
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (mayReportEnd(line)) bell.ring();
  });
  await closed;
}
