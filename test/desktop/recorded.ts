/**
 * What Debian 12's Xtigervnc (1.12.0) said, until its first picture had come, to a client that knew the password `secret12`:
 * a screen of 50 × 36 pixels with an xterm on it, in Hextile with raw tiles, and the pointer over it. Base64.
 */
const SAID =
  'UkZCIDAwMy4wMDgKAQI7M+rplFqqj4VdHgyLNUW1AAAAAAAyACQgGAABAP8A/wD/EAgAAAAAAAAAB3Jvb3RAdm0DAAAA////+B8AAAEAAAAAAA' +
  'AABQAAAAAAMgAKAAAABRrNAAAACwAAAAAA8AAAAAABCP///wAR4f///wATFgAA7gDzBQAAAACVBAAAAABIIAAAAACoIAAAAAB5AAAAAADZAAAA' +
  'AAD5ABoAAAAACv///wAB8QAA7gADRP///wBTUf///wBVMv///wClBAAA7gA4EP///wBYAAAA7gAJIAAA7gBJAP///wBpIAz///8AAgHhE9YAAA' +
  'AACgAVABAAAAAFGgAAAAAN////ABAfzQAAADAAzQAAAIAFzQAAAKAizQAAAOAFzQAAAEEgzQAAAEIQzQAAADMCzQAAAGMCzQAAANMSAADuAPMC' +
  'zQAAAESh////ADbJGgAA7gADAAAAADIAAAAAAAMg////AAZJAB4ACgAUABAAAAAFDv///wAAAAAAAQAlCAEQLwAAABoAMgAKAAAABQ4AAAAA//' +
  '//AAEQ5A7///8AAAAAAAEF9A4AAAAA////AAEA5AAAFQAKAAkAEAAAAAUO////AAAAAAALQAARIFEgMiATAEMKcxJkIT0gHiBeIA==';
/** And what it had been told. */
const SENT =
  'UkZCIDAwMy4wMDgKAqoE68AtwRW0cPnLRTAmmi4BAAAAACAYAAEA/wD/AP8ACBAAAAACAAADAAAABQAAAADAoeXOAwAAAAAAADIAJAYAAAD///' +
  '/4GwAAAQAAAAA=';

export const RECORDED = {
  said: Buffer.from(SAID, 'base64'),
  sent: Buffer.from(SENT, 'base64'),
  password: 'secret12',
  /** SHA-256 of its pixels, which were looked at. */
  pixels: 'e033d822e21bc372ba33defa17ad43d4ad41114fb769845879ef2fc7bee56dec',
};
