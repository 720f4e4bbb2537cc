// wayOf reads a JSON Pointer (RFC 6901); pointerTo writes one.
export const wayOf = (pointer: string): string[] => (pointer === '' ? [] : pointer.slice(1).split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')));

export const pointerTo = (above: string, name: string): string => `${above}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
