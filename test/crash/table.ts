export const pageOf = (_a: unknown, b: string): string => b;
