// @module-tag full
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Playbook } from '../../client/playbooks.ts';
import { tarEntries } from '../../model/image/tar-scanner.ts';
import { isPlaybookOver } from '../../model/playbook/playbook.ts';
import { ansibleArchive } from '../../worker/config/artifacts.mjs';
import { useServedOnLibvirt } from '../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const mayfly = useServedOnLibvirt();

/** A repository in the guest, of packages that are made there: nothing is fetched. */
const REPOSITORY = `set -e
mkdir -p /srv/repo /srv/build && cd /srv/build
deb() {
  mkdir -p $1/DEBIAN $1/usr/share/$1 $1/etc
  printf 'Package: %s\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: x <x@example.org>\\nDepends: %s\\nDescription: x\\n' $1 "$2" | sed '/^Depends: $/d' > $1/DEBIAN/control
  echo "of $1" > $1/usr/share/$1/data; echo 'set = 1' > $1/etc/$1.conf; echo /etc/$1.conf > $1/DEBIAN/conffiles
  dpkg-deb --root-owner-group -b $1 $3/$1.deb >/dev/null
}
deb greeter greeter-data /srv/repo; deb greeter-data '' /srv/repo; deb stranger '' /srv
cd /srv/repo
for f in *.deb; do dpkg-deb -f $f; printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' $f $(stat -c %s $f) $(sha256sum $f | cut -d' ' -f1); done > Packages
rm -rf /srv/build; rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/repo ./' > /etc/apt/sources.list.d/local.list
apt-get -q update && apt-get -qy install greeter && dpkg -i /srv/stranger.deb`;

/** One kind a line. */
const CHANGES = {
  packages: REPOSITORY,
  conffile: 'echo "set = 2" > /etc/greeter.conf',
  purged: 'apt-get -qy purge ca-certificates',
  files: `mkdir -p /srv/app/deep; head -c 100000 /dev/urandom > /srv/app/bytes; printf 'a\\0b\\377' > /srv/app/deep/x; echo '{{ 1 + 1 }}' > '/srv/app/{{ lookup("pipe","touch proof") }}'; echo y > '/srv/app/new
line'`,
  accounts: `groupadd -g 2000 crew; useradd -m -u 2001 -G crew -c 'A, B' ann; echo 'ann:secret-word' | chpasswd; useradd -M -o -u 1000 twin`,
  units: `printf '[Service]\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/app.service; systemctl enable app; systemctl mask fstrim.timer; mkdir -p /etc/systemd/system/ssh.service.d; printf '[Service]\\nNice=1\\n' > /etc/systemd/system/ssh.service.d/own.conf; systemctl daemon-reload`,
  permissions: 'chmod 4750 /usr/bin/newgrp; chown ann:crew /srv/app; chmod 2775 /srv/app; chmod 0700 /mnt',
  links: 'ln -s app /srv/current; ln /srv/app/bytes /srv/app/again; ln -s /nowhere /srv/dangling',
  removed: 'rm -rf /etc/update-motd.d /etc/motd; rm /etc/issue; mkdir /etc/issue; echo in > /etc/issue/file',
  others: `mkfifo /srv/pipe; head -c 11000000 /dev/zero > /srv/large; mkdir -m 700 -p /root/.ssh; printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNza\\n-----END OPENSSH PRIVATE KEY-----\\n' > /root/.ssh/id_ed25519; chmod 600 /root/.ssh/id_ed25519; echo z > "$(printf '/srv/b\\377d')"`,
};

async function written(sandboxId: string): Promise<Playbook> {
  const { playbooks } = mayfly().client;
  const began = performance.now();
  const { id } = await playbooks.write(sandboxId);
  const times = new Map<string, string>();
  for (const deadline = Date.now() + 1_500_000; Date.now() < deadline; await sleep(100)) {
    const playbook = await playbooks.get(id);
    if (!times.has(playbook.state)) times.set(playbook.state, `${((performance.now() - began) / 1_000).toFixed(1)} s`);
    if (!isPlaybookOver(playbook.state)) continue;
    process.stderr.write(`${id}: ${JSON.stringify([...times])}\n`);
    return playbook;
  }
  throw new Error(`it is not over: ${JSON.stringify(await playbooks.get(id))}`);
}

// Promise: a playbook of ten kinds of change brings 95 % of the paths about in a fresh virtual machine, and says all others. Costs minutes.
test.skipIf(ansibleArchive() === null)(
  'what changed in a virtual machine is brought about in a fresh one',
  async () => {
    const { client } = mayfly();
    const { id } = await client.createSandbox({ source: 'golden-debian12' }, WAIT);
    for (const [kind, command] of Object.entries(CHANGES)) {
      const ran = await client.commands.run(id, { command, user: 'root' }, WAIT);
      const said = async () => await new Response(await client.commands.output(id, ran.id, 'stderr')).text();
      expect({ kind, exitCode: ran.exitCode, said: ran.exitCode === 0 ? '' : await said() }).toEqual({
        kind,
        exitCode: 0,
        said: '',
      });
    }
    const playbook = await written(id);
    const files = new Map(
      tarEntries(await client.playbooks.archive(playbook.id)).map(({ path, bytes }) => [path, Buffer.from(bytes)]),
    );
    expect(playbook).toMatchObject({
      state: 'checked',
      failure: null,
      unchecked: null,
      check: { runs: [{}, { changed: 0 }] },
    });
    const { broughtAbout = 0, paths = 1, left = [] } = playbook.check ?? {};
    const known = left.map(({ path }) => path);
    expect(broughtAbout / paths).toBeGreaterThanOrEqual(0.95);
    for (const path of ['/srv/pipe', '/srv/large', '/root/.ssh/id_ed25519', '"/srv/b\\377d"'])
      expect(known).toContain(path);
    expect(
      broughtAbout +
        left.filter(({ path }) => !path.startsWith('/var/lib/dpkg/') && !path.startsWith('/etc/passwd')).length,
    ).toBe(paths);
    const all = [...files.values()].map((bytes) => bytes.toString('latin1')).join('\n');
    expect(all).not.toContain('b3BlbnNza');
    expect(all).not.toMatch(/\$y\$/);
    expect(await client.getSandbox(playbook.checkerId)).toMatchObject({ state: 'destroyed' });
    expect((await client.snapshots.list(id, {})).items.filter(({ state }) => state === 'ready')).toEqual([]);
  },
  2_400_000,
);
