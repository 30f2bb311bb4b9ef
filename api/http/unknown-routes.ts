import { methodNotAllowed } from 'hono/method-not-allowed';
import { MayflyError } from '../../model/errors.ts';
import type { App, Env } from './context.ts';
import { problemResponse } from './problem.ts';

/** Answers `method_not_allowed` with `Allow` where a path exists for other methods, and `not_found` elsewhere. */
export function refuseUnknownRoutes(app: App): void {
  const refuse = methodNotAllowed<Env>({
    app,
    onMethodNotAllowed(c, methods) {
      const list = methods.sort().join(', ');
      c.header('Allow', list);
      return problemResponse(c, new MayflyError('method_not_allowed', `This path takes ${list}.`));
    },
  });
  app.use(refuse);
  app.notFound((c) => problemResponse(c, new MayflyError('not_found', 'Nothing is at that path.')));
}
