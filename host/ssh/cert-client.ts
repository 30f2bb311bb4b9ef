import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import type { ConnectConfig, ParsedKey } from 'ssh2';
import ssh2 from 'ssh2';
import { sshString } from './wire.ts';

/**
 * Suffix of certificate key types. ssh2 1.17 cannot log in with an OpenSSH user certificate: it writes the
 * certificate's algorithm name also into the signature blob, where sshd expects the plain key's name (mscdex/ssh2 #551,
 * #1495). {@link CertClient} builds that packet itself. All ssh2 internals used for it are named in this file,
 * package.json pins the version, and test/host/ssh/verify.integration.test.ts logs in to a real sshd.
 */
const CERTIFICATE_SUFFIX = '-cert-v01@openssh.com';

type Sign = (toSign: Buffer, send: (signature: Buffer) => void) => void;

interface PrivateProtocol {
  authPK(user: string, key: ParsedKey, algorithm?: string | Sign, sign?: Sign): void;
  _authsQueue: string[];
  _kex: { sessionID: Buffer };
  _packetRW: {
    write: { allocStart: number; alloc(payloadBytes: number): Buffer; finalize(packet: Buffer): Buffer };
  };
}

const requireCommonJs = createRequire(import.meta.url);
const { sendPacket }: { sendPacket: (protocol: PrivateProtocol, packet: Buffer) => void } =
  requireCommonJs('ssh2/lib/protocol/utils.js');

/**
 * Returns a private key that presents its certificate instead of its bare public key.
 * @throws Error when either cannot be read, without quoting it
 */
export function keyWithCertificate(privateKey: Buffer, certificateLine: string): ParsedKey {
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error) throw new Error('The private key of the credentials cannot be read.');
  const [type, blob] = certificateLine.trim().split(/\s+/);
  if (type !== `${key.type}${CERTIFICATE_SUFFIX}` || !blob) {
    throw new Error(`The certificate of the credentials is not one of a ${key.type} key.`);
  }
  const certificate = Buffer.from(blob, 'base64');
  return Object.create(key, { type: { value: type }, getPublicSSH: { value: () => certificate } });
}

/** Time to wait for the peer's close, ms. */
const CLOSE_TIMEOUT_MS = 500;

/** SSH client (ssh2) that can log in with {@link keyWithCertificate}, and drops a peer that does not close. */
export class CertClient extends ssh2.Client {
  #socket: Socket | undefined;

  override connect(config: ConnectConfig): this {
    super.connect(config);
    const socket: unknown = Reflect.get(this, '_sock');
    if (!(socket instanceof Socket)) throw new Error('ssh2 has changed inside: CertClient needs version 1.17.');
    this.#socket = socket;
    // Nagle and delayed ACK cost 40 to 130 ms per login on loopback (facts/temporal.md §0.9).
    this.setNoDelay(true);
    const protocol: unknown = Reflect.get(this, '_protocol');
    if (!isPrivateProtocol(protocol)) throw new Error('ssh2 has changed inside: CertClient needs version 1.17.');
    signCertificatesPlainly(protocol);
    return this;
  }

  /**
   * Closes the connection, waiting {@link CLOSE_TIMEOUT_MS} for the peer: a guest that was paused, saved or removed never
   * sends its FIN, and Node would keep the socket, and the process, for ever.
   */
  override end(): this {
    setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS).unref(); // a socket that is still open keeps the timer running
    return super.end();
  }

  /** Closes the socket at once. ssh2's own method does nothing once `end` was called. */
  override destroy(): this {
    this.#socket?.destroy();
    return this;
  }
}

function signCertificatesPlainly(protocol: PrivateProtocol): void {
  const authPK = protocol.authPK.bind(protocol);
  protocol.authPK = (user, key, algorithmOrSign, maybeSign) => {
    if (!key.type.endsWith(CERTIFICATE_SUFFIX)) return authPK(user, key, algorithmOrSign, maybeSign);
    // Signed at once, without ssh2's probe whether the key is accepted: a guest would check its certificate twice.
    authPK(user, key, (toSign) => sendSigned(protocol, key, toSign, signWith(key, toSign)));
  };
}

function signWith(key: ParsedKey, data: Buffer): Buffer {
  const signature = key.sign(data);
  if (signature instanceof Error) throw signature; // a readable Ed25519 key signs everything
  return signature;
}

/** Sends the request of RFC 4252 §7: the signed data without the session id, followed by the signature. */
function sendSigned(protocol: PrivateProtocol, key: ParsedKey, toSign: Buffer, signature: Buffer): void {
  const request = toSign.subarray(4 + protocol._kex.sessionID.length);
  const plainType = Buffer.from(key.type.slice(0, -CERTIFICATE_SUFFIX.length));
  const blob = sshString(Buffer.concat([sshString(plainType), sshString(signature)]));
  const payload = Buffer.concat([request, blob]);
  const { write } = protocol._packetRW;
  const packet = write.alloc(payload.length);
  packet.set(payload, write.allocStart);
  protocol._authsQueue.push('publickey');
  sendPacket(protocol, write.finalize(packet));
}

function isPrivateProtocol(value: unknown): value is PrivateProtocol {
  return (
    typeof value === 'object' &&
    value !== null &&
    'authPK' in value &&
    typeof value.authPK === 'function' &&
    '_authsQueue' in value &&
    '_packetRW' in value
  );
}
