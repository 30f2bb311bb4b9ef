/** Shell function that builds a package offline: its name, dependencies, target folder. */
export const DEB = `set -e
deb() {
  mkdir -p /srv/build/$1/DEBIAN /srv/build/$1/usr/share/$1 /srv/build/$1/etc; cd /srv/build/$1
  printf 'Package: %s\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: x <x@example.org>\\nDepends: %s\\nDescription: x\\n' $1 "$2" | sed '/^Depends: $/d' > DEBIAN/control
  echo "of $1" > usr/share/$1/data; echo 'set = 1' > etc/$1.conf; echo /etc/$1.conf > DEBIAN/conffiles
  dpkg-deb --root-owner-group -Znone -b . $3/$1.deb >/dev/null
}
`;
/** Initial state: a reachable repository with a package of many files, one of them installed. */
export const BASE = `${DEB}
mkdir -p /srv/repo /srv/build/greeter-data/usr/share/greeter-data; for n in $(seq 200); do echo $n > /srv/build/greeter-data/usr/share/greeter-data/$n; done
deb greeter greeter-data /srv/repo; deb greeter-data '' /srv/repo; deb old '' /srv/repo; deb stranger '' /srv
rm -r /srv/build; cd /srv/repo
for f in *.deb; do dpkg-deb -f $f; printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' $f $(stat -c %s $f) $(sha256sum $f | cut -d' ' -f1); done > Packages
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*
echo 'deb [trusted=yes] file:/srv/repo ./' > /etc/apt/sources.list.d/local.list
apt-get -q update && apt-get -qy install old; groupadd -g 2000 former`;

/** Sets an ACL for one user as setfacl does: acl(5), and linux/posix_acl_xattr.h. The guest has no setfacl. */
const SETFACL = `perl -e '$v = pack("V", 2); $v .= pack("vvV", @$_) for [1, 6, -1], [2, 4, 1000], [4, 4, -1], [16, 4, -1], [32, 0, -1];
($p, $n) = ("/srv/app/shared", "system.posix_acl_access"); syscall(188, $p, $n, $v, length $v, 0) and die $!'`;
const KEY = "printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNza\\n-----END OPENSSH PRIVATE KEY-----\\n'";

/** Changes by kind. */
export const CHANGES = {
  packages: 'apt-get -qy install greeter && dpkg -i /srv/stranger.deb',
  conffile: 'echo "set = 2" > /etc/greeter.conf',
  purged: 'apt-get -qy purge old',
  files: `mkdir -p /srv/app/deep; head -c 100000 /dev/urandom > /srv/app/bytes; printf 'a\\0b\\377' > /srv/app/deep/x; rm -r /etc/update-motd.d /etc/motd; rm /etc/issue; mkdir /etc/issue; echo in > /etc/issue/file`,
  hostile: `echo '{{ 1 + 1 }}' > '/srv/app/{{ lookup("pipe","touch proof") }}'; echo y > '/srv/app/new
line'; echo z > "$(printf '/srv/b\\377d')"; echo '{% raw %}' > '/srv/app/- !unsafe "x: #y'`,
  accounts: `groupdel former; groupadd -g 2000 crew; useradd -m -u 2001 -G crew -c 'A, B' ann; echo 'ann:secret-word' | chpasswd; useradd -M -o -u 1000 twin`,
  units: `printf '[Service]\\nExecStart=/bin/true\\n[Install]\\nWantedBy=multi-user.target\\n' > /etc/systemd/system/app.service; systemctl enable app; systemctl mask fstrim.timer; mkdir -p /etc/systemd/system/ssh.service.d; printf '[Service]\\nNice=1\\n' > /etc/systemd/system/ssh.service.d/own.conf; systemctl daemon-reload`,
  permissions: 'chmod 4750 /usr/bin/newgrp; chown ann:crew /srv/app; chmod 2775 /srv/app; chmod 0700 /mnt',
  links: `ln -s app /srv/current; ln /srv/app/bytes /srv/app/again; ln -s /nowhere /srv/dangling; cp /bin/true /srv/app/able; setcap cap_net_raw+ep /srv/app/able; echo a > /srv/app/shared; chmod 640 /srv/app/shared; ${SETFACL}`,
  others: `mkfifo /srv/pipe; head -c 11000000 /dev/zero > /srv/large; mkdir -m 700 -p /root/.ssh; ${KEY} > /root/.ssh/id_ed25519; chmod 600 /root/.ssh/id_ed25519`,
};
/** Changes that the playbook cannot reproduce. */
export const LEFT = [
  '"/srv/b\\377d"',
  '/root/.ssh/id_ed25519',
  '/srv/app/able',
  '/srv/app/shared',
  '/srv/large',
  '/srv/pipe',
  '/etc/stranger.conf',
  '/usr/share/stranger',
  '/usr/share/stranger/data',
];

/** Secrets that must not occur in the playbook. */
export const SECRETS = [/b3BlbnNza/, /\$y\$/, /secret-word/];
