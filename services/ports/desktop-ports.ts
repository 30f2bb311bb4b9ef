/** Ports of a desktop's loopback, as images/root.desktop has them. */
export const DESKTOP_PORTS = { screen: 5_901, look: 5_902, paste: 5_903, noVnc: 6_080 } as const;
