import { FREEZER, FROZEN_LIST } from '../guest/freezer.ts';
import { STEP_CLOCK } from '../guest/step-clock.ts';

/** List (tmpfs) of the calendar timers stopped by a template, one per line. They restart once the clock is right. */
export const STOPPED_TIMERS = '/run/mayfly-timers';
/** Length of the host's randomness for a guest. */
export const ENTROPY_BYTES = 64;

/**
 * Perl program that renews a woken guest; run in it as root by its guest agent: one program, since under emulation each
 * costs 40 to 100 ms. Constant text; reads lines of `key value`, the files of an identity as `| line` after `file
 * name`.
 *
 * ioctls of linux/random.h: RNDADDENTROPY with struct rand_pool_info, then RNDRESEEDCRNG, since data only written to
 * /dev/urandom is used a minute later. SIOCSIFHWADDR of linux/sockios.h; system calls by number, since perl has no
 * names for them. All other processes stay frozen until the last lines, so a failure leaves them frozen, without a
 * network; a guest whose memory was saved during a thaw is refused.
 *
 * In a template's guest the journal restarts empty, with its streams: the service manager keeps them, and starts it as
 * soon as it runs itself.
 *
 * cloud-init recognizes an instance by its semaphores, mayfly-seed by its record; both are written once the rest is on
 * disk, and until then a boot takes the same identity from the seed.
 */
export const RENEW = String.raw`use strict;
${STEP_CLOCK}
$ENV{PATH} = '/usr/sbin:/usr/bin:/sbin:/bin';
umask 022;
my $list = '${FROZEN_LIST}';
my $ssh = -d '/etc/ssh/mayfly' ? '/etc/ssh/mayfly/' : '/etc/ssh/mayfly_';
my $mount = $Config{archname} =~ /^x86_64/ ? 165 : 40;
my %files = (
  'host-key' => ['/etc/ssh/ssh_host_ed25519_key', 0600], 'host-key.pub' => ['/etc/ssh/ssh_host_ed25519_key.pub', 0644],
  map { ($_ => [$ssh . $_, 0644]) } qw(user_ca.pub principals revoked_keys),
);
my (@nics, @written, $name, $nonce, $leaves);

sub text { open(my $f, '<', $_[0]) or die "$_[0]: $!\n"; local $/; my $t = <$f>; $t }
sub line { my $t = text($_[0]); $t =~ s/\n.*//s; $t }
sub put {
  my ($path, $text, $mode) = @_;
  open(my $f, '>', $path) or die "$path: $!\n";
  !defined $mode or chmod($mode, $f) or die "$path: $!\n";
  print $f $text or die "$path: $!\n";
  close $f or die "$path: $!\n";
}
sub run { system(@_) == 0 or die "$_[0] failed: $?\n" }
sub refuse_unfrozen {
  my @groups = -s $list ? split(/\n/, text($list)) : ();
  @groups && !(grep { -d $_ && line("$_/cgroup.freeze") ne '1' } @groups)
    or die "what ran in it was not frozen any more when it was saved\n";
}
sub nic_with {
  for my $path (glob '/sys/class/net/*') {
    return substr($path, 15) if -e "$path/address" && line("$path/address") eq $_[0];
  }
  die "no interface with $_[0]\n";
}

my %keys = (
  late => sub { $_[0] =~ /^-?\d+$/ ? step_clock($_[0]) : die "late\n" },
  entropy => sub {
    my $b = pack('H*', $_[0]);
    length($b) == ${ENTROPY_BYTES} or die "entropy\n";
    open(my $r, '+<', '/dev/urandom') or die "urandom: $!\n";
    ioctl($r, 0x40085203, pack('iia*', 8 * length($b), length($b), $b)) or die "RNDADDENTROPY: $!\n";
    ioctl($r, 0x5207, 0) or die "RNDRESEEDCRNG: $!\n";
  },
  nic => sub {
    my ($from, $to) = split / /, $_[0];
    my $nic = nic_with($from);
    push @nics, $nic;
    if ($from ne $to) {
      socket(my $s, 2, 2, 0) or die "socket: $!\n";
      ioctl($s, 0x8924, pack('a16SH12x16', $nic, 1, $to =~ s/://gr)) or die "$nic: SIOCSIFHWADDR: $!\n";
    }
    line("/sys/class/net/$nic/address") eq $to or die "$nic keeps its address\n";
  },
  leave => sub { $leaves = 1 },
  name => sub { $name = $_[0] },
  file => sub { push @written, [@{ $files{$_[0]} or die "file\n" }, ''] },
  '|' => sub { $written[-1][2] .= "$_[0]\n" },
  nonce => sub { $nonce = $_[0] },
);

refuse_unfrozen();
while (my $said = <STDIN>) {
  chomp $said;
  my ($key, $value) = split / /, $said, 2;
  ($keys{$key} or die "what is $key\n")->($value // '');
}
defined $nonce or die "cut off\n";
if ($leaves) {
  run('ip', 'address', 'flush', 'dev', $_) for @nics;
  run(q(ss -K -H -t state connected not dst 127.0.0.0/8 not dst '[::1]' >/dev/null));
}
if (defined $name) {
  unlink glob '/etc/ssh/ssh_host_*';
  put(@$_[0, 2, 1]) for @written;
  my $id = line('/proc/sys/kernel/random/uuid') =~ s/-//gr;
  for my $path ('/etc/machine-id', '/var/lib/dbus/machine-id') {
    put($path, "$id\n") if $path =~ /^.etc/ || (-f $path && !-l $path);
  }
  my $old = line('/proc/sys/kernel/hostname');
  put('/etc/hostname', "$name\n");
  put('/proc/sys/kernel/hostname', "$name\n");
  if ($old =~ /^[A-Za-z0-9.-]+$/ && -f '/etc/hosts') {
    my $hosts = text('/etc/hosts');
    put('/etc/hosts', $hosts) if $hosts =~ s/(?<![\w.-])\Q$old\E(?![\w.-])/$name/g;
  }
  my ($boot, $seen) = ('/run/mayfly-boot-id', '/proc/sys/kernel/random/boot_id');
  put($boot, line('/proc/sys/kernel/random/uuid') . "\n", 0444);
  syscall($mount, $boot, $seen, 0, 4096, 0) == 0 or die "boot_id: $!\n";
  kill 'HUP', line('/run/sshd.pid') or die "sshd: $!\n";
  my $journal = '/sys/fs/cgroup/system.slice/systemd-journald.service/cgroup.procs';
  if (!$leaves && -f $journal) {
    kill 'KILL', split(/\n/, text($journal));
    unlink glob '/{run,var}/log/journal/*/*';
    rmdir for glob '/{run,var}/log/journal/*';
  }
}
refuse_unfrozen();
for my $group (split /\n/, text($list)) { put("$group/cgroup.freeze", '0') if -d $group }
unlink $list, '${FREEZER}';
if (defined $name && !fork) {
  open(STDIN, '<', '/dev/null'); open(STDOUT, '>', '/dev/null'); open(STDERR, '>', '/dev/null');
  exec '/bin/sh', '-c', <<'END', 'mayfly', $name;
sync
if [ -d /var/lib/cloud/instance/sem ]; then
  mkdir -p "/var/lib/cloud/instances/$1"
  cp -a /var/lib/cloud/instance/sem "/var/lib/cloud/instances/$1/"
fi
[ ! -d /var/lib/mayfly ] || echo "$1" >/var/lib/mayfly/instance-id
if [ -s ${STOPPED_TIMERS} ]; then xargs systemctl start --no-block <${STOPPED_TIMERS}; fi
rm -f ${STOPPED_TIMERS}
END
}
print "renewed $nonce\n";`;
