import type { ListenAddress } from '../../services/listen.ts';
import type { Config } from '../config/config.ts';

/** Listening addresses of each part of Mayfly, by its settings. */
export const LISTEN_ADDRESSES = {
  api: ({ api, hooks, ingress }: Config): ListenAddress[] => [
    { ...api, setting: 'MAYFLY_API_PORT' },
    { ...ingress, setting: 'MAYFLY_INGRESS_PORT' },
    ...(hooks.port === undefined ? [] : [{ ...hooks, port: hooks.port, setting: 'MAYFLY_HOOKS_PORT' }]),
  ],
  control: (): ListenAddress[] => [],
  host: ({ relay }: Config): ListenAddress[] => [{ ...relay, setting: 'MAYFLY_RELAY_PORT' }],
  proxy: ({ proxy }: Config): ListenAddress[] => [{ ...proxy, setting: 'MAYFLY_PROXY_PORT' }],
};
