import { createRoute } from '@hono/zod-openapi';
import { isMayflyError, MayflyError } from '../../model/errors.ts';
import type { FunctionVersion } from '../../model/functions/function.ts';
import { awaitCacheExpiry } from '../../store/mongo/cache-lifetime.ts';
import type { Unreadable } from '../../store/sealed/sealed-fields.ts';
import { actorOf, requires } from '../http/auth.ts';
import type { App, RequestDeps } from '../http/context.ts';
import { BODY, problems } from '../http/problem-answers.ts';
import { answerList, json, listOf, noQuery, preferHeaders } from '../http/schemas.ts';
import { activated, deployFunction as deploy } from './deploy-function.ts';
import {
  deleteQuery,
  deployFunction,
  functionAnswer,
  functionParams,
  versionAnswer,
  versionParams,
} from './function-schemas.ts';
import { awaitSetup } from './function-setup.ts';
import { functionView, requireFunction, requireVersion, versionView } from './function-view.ts';
import type { InputSchemas } from './schema/input-schemas.ts';
import { warningsOf } from './secret-uses.ts';

const ALL = '/v1/functions';
const ONE = '/v1/functions/{name}';
const tags = ['functions'];
const PLACED = [
  'no_host',
  'source_not_found',
  'source_differs',
  'snapshot_not_found',
  'snapshot_not_ready',
  'capture_not_found',
  'capture_not_ready',
  'exceeds_hosts',
  'source_running',
  'policy_denied',
] as const;

const deployOne = createRoute({
  method: 'put',
  path: ONE,
  tags,
  operationId: 'deployFunction',
  summary: 'Deploy a version of a function: events are accepted for it from now on',
  description:
    'The same content again is the version that is there. docs/functions.md says what a process is given. With `Prefer: wait=60` it is answered when its setup is ready or has failed.',
  middleware: [requires('sandboxes:write')],
  request: {
    params: functionParams,
    query: noQuery,
    headers: preferHeaders,
    body: { required: true, content: { 'application/json': { schema: deployFunction } } },
  },
  responses: {
    200: json('That content was deployed before: it is the active version', versionAnswer),
    201: json('It is a new version', versionAnswer),
    ...problems(
      BODY,
      PLACED,
      'retry_needs_idempotent',
      'functions_full',
      'secret_not_found',
      'function_draining',
      'invalid_schema',
      'schema_too_slow',
    ),
  },
});

const listAll = createRoute({
  method: 'get',
  path: ALL,
  tags,
  operationId: 'listFunctions',
  summary: 'List the functions of the project, by name',
  middleware: [requires('sandboxes:read')],
  request: { query: noQuery },
  responses: { 200: json('All of them', listOf(functionAnswer)), ...problems() },
});

const getOne = createRoute({
  method: 'get',
  path: ONE,
  tags,
  operationId: 'getFunction',
  summary: 'Read a function',
  middleware: [requires('sandboxes:read')],
  request: { params: functionParams, query: noQuery },
  responses: { 200: json('The function', functionAnswer), ...problems('function_not_found') },
});

const listVersions = createRoute({
  method: 'get',
  path: `${ONE}/versions`,
  tags,
  operationId: 'listFunctionVersions',
  summary: 'List the versions of a function, newest first',
  middleware: [requires('sandboxes:read')],
  request: { params: functionParams, query: noQuery },
  responses: {
    200: json('All that are kept', listOf(versionAnswer)),
    ...problems('function_not_found'),
  },
});

const activateOne = createRoute({
  method: 'post',
  path: `${ONE}/versions/{version}/activate`,
  tags,
  operationId: 'activateFunctionVersion',
  summary: 'Have events accepted for a version that was deployed before',
  description: 'Runs that wait keep the version that they were accepted for.',
  middleware: [requires('sandboxes:write')],
  request: { params: versionParams, query: noQuery },
  responses: {
    200: json('It is the active version', versionAnswer),
    ...problems('function_not_found', 'function_version_not_found', 'function_draining'),
  },
});

const stateRoute = (act: 'pause' | 'resume', summary: string) =>
  createRoute({
    method: 'post',
    path: `${ONE}/${act}`,
    tags,
    operationId: `${act}Function`,
    summary,
    middleware: [requires('sandboxes:write')],
    request: { params: functionParams, query: noQuery },
    responses: { 200: json('It is so', functionAnswer), ...problems('function_not_found', 'function_draining') },
  });

const pauseOne = stateRoute('pause', 'Have no run of a function started; its events are accepted all the same');
const resumeOne = stateRoute('resume', 'Have the runs of a function started again');

const deleteOne = createRoute({
  method: 'delete',
  path: ONE,
  tags,
  operationId: 'deleteFunction',
  summary: 'Delete a function and its versions',
  middleware: [requires('sandboxes:write')],
  request: { params: functionParams, query: deleteQuery },
  responses: {
    202: json('It goes when its runs have ended', functionAnswer),
    204: { description: 'It is gone. Its runs that have ended can be read still' },
    ...problems('function_not_found', 'function_in_use'),
  },
});

export function functionRoutes(app: App, schemas: InputSchemas): void {
  app.openapi(deployOne, async (c) => {
    const { name } = c.req.valid('param');
    const {
      function: record,
      version,
      isNew,
    } = await deploy(c.get('deps'), schemas, actorOf(c), name, c.req.valid('json'));
    const warnings = await warningsOf(c.get('deps'), version.spec.secrets);
    const deps = c.get('deps');
    await awaitSetup(c, deps, version.spec);
    return c.json({ ...(await versionView(deps, version, record)), warnings }, isNew ? 201 : 200);
  });
  app.openapi(listAll, async (c) =>
    c.json({ items: (await c.get('deps').store.functions.list()).map(functionView) }, 200),
  );
  app.openapi(getOne, async (c) =>
    c.json(functionView(await requireFunction(c.get('deps'), c.req.valid('param').name)), 200),
  );
  app.openapi(listVersions, async (c) => {
    const { name } = c.req.valid('param');
    const record = await requireFunction(c.get('deps'), name);
    const unreadable: Unreadable[] = [];
    const versions = await c.get('deps').store.functionVersions.list(name, unreadable);
    const view = async (version: FunctionVersion) => {
      try {
        return [await versionView(c.get('deps'), version, record)];
      } catch (error) {
        if (!isMayflyError(error, 'record_damaged')) throw error;
        unreadable.push({ id: `${name}/${version.version}`, problem: error.message }); // its setup
        return [];
      }
    };
    return c.json(answerList((await Promise.all(versions.map(view))).flat(), unreadable), 200);
  });
  app.openapi(activateOne, async (c) => {
    const { name, version } = c.req.valid('param');
    const deps = c.get('deps');
    await requireFunction(deps, name);
    const found = await requireVersion(deps, name, version);
    return c.json(await versionView(deps, found, await activated(deps, actorOf(c), name, version)), 200);
  });
  app.openapi(pauseOne, async (c) => {
    const { name } = c.req.valid('param');
    return c.json(functionView(await changed(c.get('deps'), name, 'active', 'paused')), 200);
  });
  app.openapi(resumeOne, async (c) => {
    const { name } = c.req.valid('param');
    const deps = c.get('deps');
    const record = await changed(deps, name, 'paused', 'active');
    await deps.sagas.wakeDispatcher({ project: record.project, name }).catch((error: unknown) => {
      deps.logger.info({ err: error, name }, 'what waits is looked at by the next poll');
    });
    return c.json(functionView(record), 200);
  });
  app.openapi(deleteOne, async (c) => {
    const { name } = c.req.valid('param');
    const left = await removed(c.get('deps'), name, c.req.valid('query').drain === 'true');
    return left ? c.json(functionView(left), 202) : c.body(null, 204);
  });
}

/** @throws MayflyError function_not_found, function_draining */
async function changed(deps: RequestDeps, name: string, from: 'active' | 'paused', to: 'active' | 'paused') {
  const changes = { state: to, updatedAt: new Date().toISOString() };
  if (await deps.store.functions.change(name, changes, { state: from })) await awaitCacheExpiry();
  const found = await requireFunction(deps, name);
  if (found.state === to) return found;
  throw new MayflyError('function_draining', `${name} is being deleted.`);
}

/** @returns what is left of it until its runs have ended; null: nothing @throws MayflyError function_not_found, function_in_use */
async function removed(deps: RequestDeps, name: string, isDrained: boolean) {
  const { store } = deps;
  const { state } = await requireFunction(deps, name);
  const isToDrain = isDrained || state === 'draining';
  if (isToDrain || !(await store.runs.areOpen(name))) {
    await store.functions.change(name, { state: 'draining', updatedAt: new Date().toISOString() });
    await awaitCacheExpiry(); // what is accepted until then is seen below
    if (!(await store.runs.areOpen(name))) {
      await store.functions.remove(name);
      return null;
    }
    if (isToDrain) return requireFunction(deps, name);
    await store.functions.change(name, { state }); // one came in between
    await awaitCacheExpiry();
  }
  throw new MayflyError('function_in_use', `Runs of ${name} have not ended.`);
}
