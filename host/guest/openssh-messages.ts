import type { RetryDecision } from './retry.ts';

/** Output of the system's ssh after a failure. */
interface OpenSshFailure {
  stderr: string;
  /** 255 is ssh's own; any other is the remote program's (ssh(1), EXIT STATUS). */
  exitCode: number;
  /** `connect`: the remote program cannot have started. Messages are the same in both phases. */
  phase: 'connect' | 'session';
}

/** `sshpkt_fmt_connection_id` of packet.c: an address and a port; behind a ProxyCommand `UNKNOWN port 65535`. */
const PEER = String.raw`\S+ port -?\d+`;
/** strerror(3) texts of transient errors, in the words of glibc, musl, BSD and macOS. */
const PASSING = [
  'Connection refused',
  'Connection reset(?: by peer)?',
  'Connection timed out',
  'Operation timed out',
  'No route to host',
  'Host is (?:down|unreachable)',
  'Network is (?:down|unreachable)',
  'Network (?:unreachable|dropped connection on reset)',
  'Broken pipe',
  'Software caused connection abort',
  'Resource temporarily unavailable',
  "(?:Cannot|Can't) assign requested address",
].join('|');
/** gai_strerror(3) texts of unknown names and missing answers, not of invalid requests. */
const UNRESOLVED = [
  'Temporary failure in name resolution',
  'Name or service not known',
  'No address associated with (?:host)?name',
  '(?:node|host)name nor servname provided, or not known',
  'Name does not resolve',
  'Name has no usable address',
  'No such host is known\\. ?',
  'Non-recoverable failure in name resolution',
  'Try again',
  'Unrecoverable error',
  'System error',
  PASSING,
].join('|');

type Table = readonly (readonly [RetryDecision, RegExp])[];

/** Matches a whole line, written as in a regular expression. */
function line(text: TemplateStringsArray, ...values: string[]): RegExp {
  return new RegExp(`^(?:${String.raw(text, ...values)})$`, 'i');
}

/**
 * Lines of OpenSSH's client, from the format strings in its sources (ssh.c, sshconnect.c, sshconnect2.c, packet.c,
 * kex.c, clientloop.c; 6.0 to 10.0), each whole: the same words within another line may be another program's. The first
 * row that matches any line decides, so permanent failures stand first.
 */
const LINES: Table = [
  // identity of the peer: sshconnect.c
  ['never', line`Host key verification failed\.`],
  ['never', line`@\s+WARNING: (?:REMOTE HOST IDENTIFICATION HAS CHANGED|POSSIBLE DNS SPOOFING DETECTED)!\s+@`],
  ['never', line`(?:No \S+ host (?:key|certificate) is known|Host (?:key|certificate)) for .+ strict checking\.`],
  // protocol mismatch: kex.c, packet.c
  ['never', line`Protocol major versions differ: .+|Remote machine has too old SSH software version\..*`],
  ['never', line`Bad remote protocol version identification: .+|Unable to negotiate with ${PEER}: .+`],
  ['never', line`banner exchange: Connection to ${PEER}: invalid format|Bad packet length \d+\.`],
  // permanent refusal by the server: RFC 4253 §11.1, all but 7, 10 and 12
  ['never', line`Received disconnect from ${PEER}:(?!(?:7|10|12):)\d+: .*`],
  ['never', line`Too many authentication failures(?: for .+)?`],
  ['never', line`channel \d+: open failed: administratively prohibited(?:: .*)?`],
  ['never', line`System is going down\. .+`],
  // client's own side: ssh.c, authfile.c, sshconnect2.c
  ['never', line`no such identity: .+|Load key ".*": .+|Permissions \d+ for '.*' are too open\.`],
  ['never', line`(?:\S+: )?(?:line \d+: )?Bad (?:configuration option|owner or permissions).*`],
  ['never', line`Certificate invalid: (?!expired$|not yet valid$).+`],

  ['reissue', line`Certificate invalid: expired`],
  ['transient', line`Certificate invalid: not yet valid`],

  ['transient', line`ssh: Could not resolve hostname .+: (?:${UNRESOLVED})`],
  ['transient', line`ssh: connect to host .+ port \d+: (?:${PASSING})`],
  ['transient', line`(?:kex|ssh)_exchange_identification: (?:(?:read|write): )?(?:${PASSING})`],
  ['transient', line`(?:kex|ssh)_exchange_identification: Connection closed by remote host`],
  ['transient', line`Connection timed out during banner exchange`],
  ['transient', line`Connection (?:closed|reset) by ${PEER}(?: \[preauth\])?|Connection closed by \S+`],
  ['transient', line`Connection to ${PEER} timed out|Connection to \S+ timed out while waiting to (?:read|write)`],
  ['transient', line`[\w ]+: Connection to ${PEER}: (?:${PASSING})`],
  ['transient', line`Received disconnect from ${PEER}:(?:7|10|12): .*`],
  ['transient', line`client_loop: (?:send disconnect|ssh_packet_\w+): (?:${PASSING})`],
  ['transient', line`(?:Write|Read) failed: (?:${PASSING})|Read from remote host .+: (?:${PASSING})`],
  ['transient', line`Timeout, server .+ not responding\.`],
  ['transient', line`Connection to .+ closed by remote host\.`],
  // pam_nologin(8) while systemd-user-sessions has not run
  ['transient', line`"?System is booting up\. Unprivileged users are not permitted to log in yet\..*`],

  ['first-boot', line`(?:\S+@\S+: )?Permission denied \([\w@.,-]*\)\.`],
];

/** Classifies the system ssh's failure. `never` without a line that is certainly ssh's own. */
export function classifyOpenSshFailure({ stderr, exitCode, phase }: OpenSshFailure): RetryDecision {
  if (phase === 'session' || exitCode !== 255) return 'never';
  const said = stderr.split(/\r?\n/).map((text) => text.trimEnd());
  return LINES.find(([, pattern]) => said.some((text) => pattern.test(text)))?.[0] ?? 'never';
}
