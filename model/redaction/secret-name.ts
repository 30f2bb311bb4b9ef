/** Parts of words that always mark a secret. */
const SECRET_PARTS =
  /passw(?:or)?d|passphrase|passcode|secret|token|credential|authorization|apikey|privatekey|accesskey/;
/** Last words that mark a secret. */
const LAST = new Set(['pass', 'pwd', 'auth', 'cookie', 'pat', 'psk', 'sig', 'jwt']);
/** Last words that mark a harmless property of a secret. */
const HARMLESS_ENDINGS = new Set(
  (
    'id ids name names file files path dir url uri endpoint type kind size length count bytes budget limit min max used ' +
    'seconds ms ttl at expiry expires expiration version env algorithm fingerprint serial'
  ).split(' '),
);
/** Words before `_KEY` that mark no secret. */
const OPEN_KEYS = new Set(
  'public pub primary foreign sort partition cache host idempotency group map object row index natural'.split(' '),
);
const KEYS = new Set(
  'api access secret private preshared auth encryption signing master account storage service shared session license'.split(
    ' ',
  ),
);

/**
 * True when a name, split into words, is that of a secret: `AWS_SECRET_ACCESS_KEY`, `dbPassword`, `--token`; not
 * `apiKeyId`, `token_url` or the shell's `PWD`.
 */
export function isSecretName(name: string): boolean {
  if (name.length > MOST || name === 'PWD' || name === 'OLDPWD') return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  if (HARMLESS_ENDINGS.has(last) || last === 'tokens') return false;
  if (words.some((word) => SECRET_PARTS.test(word)) || LAST.has(last)) return true;
  const before = words.at(-2);
  if ((last !== 'key' && last !== 'keys') || before === undefined) return false;
  return KEYS.has(before) || (/^[A-Z\d_]+$/.test(name) && !OPEN_KEYS.has(before));
}

/** Longest name, UTF-16 code units. */
const MOST = 128;
