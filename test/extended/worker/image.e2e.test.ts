import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { buildTar, type TarEntry } from '../../../model/image/tar.ts';
import { builtImage } from '../../support/built-image.ts';
import { useServedOnLibvirt } from '../../support/served-on-libvirt.ts';

const WAIT = { waitSeconds: 240 };
const DOCKERFILE = `FROM debian:12 AS tool
RUN --mount=type=secret,id=token,required=true cat /run/secrets/token; sha256sum </run/secrets/token >/sum; sleep 1000 &
FROM debian:12
ARG WHO=nobody
ENV GREETING="hello $WHO"
WORKDIR /srv/app
COPY --chmod=0755 <<EOF ./say
#!/bin/sh
echo "$GREETING from \\$(hostname)"
EOF
RUN useradd -m app && chown -R app: .
COPY --chown=app src/ ./
USER app
RUN ./say > said; id -un >> said; sleep 1000 &
USER root
COPY --from=tool /sum /srv/sum
RUN pgrep sleep || echo none >/srv/left; ls /run/secrets /run/mayfly-secrets || true
`;
const FILES: TarEntry[] = ['src/a', 'src/deep/b'].map((path) => {
  return { path, type: 'file', mode: 0o640, bytes: Buffer.from(`${path}\n`.repeat(10_000)), link: null };
});
const CONTEXT = Buffer.from(buildTar(FILES)).toString('base64');
const mayfly = useServedOnLibvirt();

function built(name: string, dockerfile = DOCKERFILE) {
  const secrets = { token: Buffer.from('t0ken').toString('base64') };
  const aliases = { 'debian:12': 'golden-debian12' };
  const wish = { name, dockerfile, args: { WHO: 'you' }, aliases, context: CONTEXT, secrets };
  return builtImage(mayfly().client.images, wish);
}

test('a Dockerfile becomes a source of virtual machines', async () => {
  const { client } = mayfly();
  const first = await built('built-one');
  expect(first.image).toMatchObject({ state: 'ready', cached: 0, failure: null });
  const again = await built('built-two');
  expect(again.image).toMatchObject({ state: 'ready', cached: first.image.done });
  const failed = await built('built-three', `${DOCKERFILE}RUN ping -c1 -W2 192.0.2.1 || exit 7`);
  expect(failed.image).toMatchObject({ state: 'failed', failure: { line: 18, exitCode: 7 } });
  const [a, b, c] = [first, again, failed].map(({ ms }) => ms.toFixed(0));
  process.stderr.write(`image: first ${a} ms, all cached ${b} ms, one step that fails behind cached ones ${c} ms\n`);

  const clone = await client.createSandbox({ source: 'built-one' }, WAIT);
  const { id } = clone;
  const byHand = performance.now();
  for (let n = 0; n < 3; n++) {
    await client.commands.run(id, { command: 'echo step' }, WAIT);
    await client.snapshots.take(id, {}, WAIT);
  }
  process.stderr.write(`three commands and snapshots by hand ${(performance.now() - byHand).toFixed(0)} ms\n`);
  const look =
    'cat /srv/app/said /srv/sum /srv/left; stat -c "%n %U:%G %a %s" /srv/app/deep/b; ls -l /srv/app; pgrep sleep || echo none; bash -lc "echo $GREETING"; ls /tmp';
  const said = await client.commands.run(id, { command: look }, WAIT);
  const out = await client.commands.output(id, said.id, 'stdout');
  const text = await new Response(out).text();
  expect(text).toMatch(/^hello you from /);
  expect(text).toContain('\napp\n');
  expect(text).toContain(`${createHash('sha256').update('t0ken').digest('hex')}  -\nnone\n`);
  expect(text).toContain('/srv/app/deep/b app:app 640 110000\n');
  await client.destroySandbox(id, WAIT);
}, 3_600_000);
