import { text } from 'node:stream/consumers';
import { isImageFinal } from '../../model/image/image.ts';
import { ask, outcomeOf, WAIT } from './asking.ts';
import { type Act, wish } from './stage.ts';

/**
 * Builds two stages, one copying a file of the other, with a ready check; each step takes effect once. Cleared as a
 * baked source.
 */
export const BUILD_AN_IMAGE: Act = {
  prepare: async () => [],
  run: (stage, _ids, key) =>
    outcomeOf(async () => {
      const { client } = stage;
      const name = `baked-i${key.replace(/[^0-9a-z]/gi, '').slice(-12)}`;
      const dockerfile = [
        'FROM golden-debian12 AS files',
        `RUN echo ${name} >>/key`,
        'FROM golden-debian12',
        'COPY --from=files /key /key',
        'RUN cat /key >>/effects',
      ].join('\n');
      const { id } = await ask((o) => client.images.build({ name, dockerfile, ready: 'test -s /effects' }, o), key);
      const { state, failure } = await ask(() => client.images.get(id));
      if (!isImageFinal(state)) return 'creating';
      if (state !== 'ready') return failure?.code ?? state;
      const clone = await ask((o) => client.createSandbox({ ...wish(stage), source: name }, o), `${key}-clone`);
      const run = { argv: ['cat', '/effects'] };
      const look = await ask((o) => client.commands.run(clone.id, run, o), `${key}-look`);
      const effects = await text(await ask(() => client.commands.output(clone.id, look.id, 'stdout')));
      await ask(() => client.destroySandbox(clone.id, WAIT));
      return effects === `${name}\n` ? 'built once' : `ready, with effects ${JSON.stringify(effects)}`;
    }, 'built once'),
};
