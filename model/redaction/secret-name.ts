/** Whatever else is in a word, with one of these the value is a secret. */
const TELLING = /passw(?:or)?d|passphrase|passcode|secret|token|credential|authorization|apikey|privatekey|accesskey/;
/** Words that tell it at the end of a name. */
const LAST = new Set(['pass', 'pwd', 'auth', 'cookie', 'pat', 'psk', 'sig', 'jwt']);
/** What a name ends in that speaks of a secret and is none. */
const ABOUT = new Set(
  (
    'id ids name names file files path dir url uri endpoint type kind size length count bytes budget limit min max used ' +
    'seconds ms ttl at expiry expires expiration version env algorithm fingerprint serial'
  ).split(' '),
);
/** What a `…_KEY` is of that is no secret. */
const OPEN_KEYS = new Set(
  'public pub primary foreign sort partition cache host idempotency group map object row index natural'.split(' '),
);
const KEYS = new Set(
  'api access secret private preshared auth encryption signing master account storage service shared session license'.split(
    ' ',
  ),
);

/**
 * Whether what is called this is a secret, going by the words of the name: `AWS_SECRET_ACCESS_KEY`, `dbPassword`, `--token`;
 * not `apiKeyId`, `token_url` or the shell's `PWD`.
 */
export function isSecretName(name: string): boolean {
  if (name.length > MOST || name === 'PWD' || name === 'OLDPWD') return false;
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  if (ABOUT.has(last) || last === 'tokens') return false;
  if (words.some((word) => TELLING.test(word)) || LAST.has(last)) return true;
  const before = words.at(-2);
  if ((last !== 'key' && last !== 'keys') || before === undefined) return false;
  return KEYS.has(before) || (/^[A-Z\d_]+$/.test(name) && !OPEN_KEYS.has(before));
}

/** A longer name is no name. UTF-16 code units. */
const MOST = 128;
