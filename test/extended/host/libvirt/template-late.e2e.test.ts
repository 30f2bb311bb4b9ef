import { readdirSync, readlinkSync } from 'node:fs';
import { expect } from 'vitest';
import { QemuProcesses } from '../../../../host/libvirt/watch/qemu-processes.ts';
import { Created, makeBrokenTemplate } from '../../../host/libvirt/created.ts';
import { killedAfter } from '../../../host/libvirt/killed-step.ts';
import { useMachine } from '../../../host/libvirt/use-machine.ts';
import { letTimePass } from '../../../support/passage-of-time.ts';
import { sweep } from '../../../support/sweep.ts';

const machine = useMachine();
const processes = new QemuProcesses();

/** Returns the files of a sandbox that processes have open, with the processes. */
async function holdersOf(sandboxId: string): Promise<Map<string, Set<number>>> {
  const folder = machine().state.workspace(sandboxId);
  const found = new Map<string, Set<number>>();
  for (const { pid } of await processes.all()) {
    for (const file of openFiles(pid)) {
      if (file.startsWith(folder) && /\.qcow2(?: \(deleted\))?$/.test(file)) {
        found.set(file, (found.get(file) ?? new Set<number>()).add(pid));
      }
    }
  }
  return found;
}

function openFiles(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return []; // it has ended, or closed a file; the next round reads it again
  }
}

/** Watches continuously which processes have the disks of a sandbox open. */
class DiskWatch {
  readonly twice = new Set<string>();
  looks = 0;
  #isOver = false;
  readonly #ended: Promise<void>;

  constructor(private readonly sandboxId: string) {
    this.#ended = this.#look();
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      for (const [file, pids] of await holdersOf(this.sandboxId)) {
        if (pids.size > 1) this.twice.add(`${file} by ${[...pids].join(', ')}`);
      }
      this.looks++;
      await letTimePass(10);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }
}

sweep([300, 700, 100, 1_200, 2_000])(
  'a wake whose worker was killed %s ms into it has ended when its sandbox has booted cold',
  async (ms) => {
    await makeBrokenTemplate(machine());
    const sandbox = await new Created(machine()).make();
    const watch = new DiskWatch(sandbox.id);
    try {
      await killedAfter(machine(), ms, 'bootDomain', sandbox.id, '');
      // libvirtd may still execute the request of the killed worker: then this one fails, and is repeated, as Temporal
      // does
      await sandbox.boot().catch(() => sandbox.boot());
      expect(await sandbox.boots()).toMatchObject({ way: 'cold', why: 'template_failed' });
      expect(await sandbox.run('hostname')).toBe(sandbox.id);
    } finally {
      await watch.end();
    }
    expect([...watch.twice]).toEqual([]);
    expect(watch.looks).toBeGreaterThan(100);
    const [only, ...others] = await processes.of(sandbox.id);
    expect(others).toEqual([]);
    expect([...(await holdersOf(sandbox.id)).values()]).toEqual([new Set([only?.pid])]);
    await sandbox.remove();
  },
);
