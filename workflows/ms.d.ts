/** `ms` publishes `exports` without `types`, which turns every Temporal `Duration` into `any` under NodeNext. */
declare module 'ms' {
  type Unit =
    | 'ms'
    | 's'
    | 'm'
    | 'h'
    | 'd'
    | 'w'
    | 'y'
    | ' seconds'
    | ' second'
    | ' minutes'
    | ' minute'
    | ' hours'
    | ' hour'
    | ' days'
    | ' day';
  export type StringValue = `${number}` | `${number}${Unit}`;
}
