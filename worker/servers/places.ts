import type { Place } from '../../services/listen.ts';
import type { Config } from '../config/config.ts';

/** Listening addresses of each part of Mayfly, by its settings. */
export const PLACES = {
  api: ({ api, hooks, ingress }: Config): Place[] => [
    { ...api, setting: 'MAYFLY_API_PORT' },
    { ...ingress, setting: 'MAYFLY_INGRESS_PORT' },
    ...(hooks.port === undefined ? [] : [{ ...hooks, port: hooks.port, setting: 'MAYFLY_HOOKS_PORT' }]),
  ],
  control: (): Place[] => [],
  host: ({ relay }: Config): Place[] => [{ ...relay, setting: 'MAYFLY_RELAY_PORT' }],
  proxy: ({ proxy }: Config): Place[] => [{ ...proxy, setting: 'MAYFLY_PROXY_PORT' }],
};
