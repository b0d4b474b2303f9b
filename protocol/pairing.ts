/**
 * How a desktop is paired: the names that both sides use. The rest is RFC 8628 (device authorization) and RFC 6749.
 *
 * Owns names only. A desktop calls these paths on the relay's own address.
 */

/** The client that `graph-relay desktop login` is. It has no secret: the owner confirms each login. */
export const DESKTOP_CLIENT = 'graph-relay-desktop';
export const DESKTOP_SCOPE = 'osfoundry:desktop';

export const DEVICE_CODE_PATH = '/oauth/device_authorization';
export const TOKEN_PATH = '/oauth/token';
export const REVOKE_PATH = '/oauth/revoke';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** What the desktop calls its machine, so that its owner recognises it. */
export const DESKTOP_NAME_PARAMETER = 'desktop_name';
