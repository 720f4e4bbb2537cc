// coarse reports a touch screen: there is no hover, and Enter on the screen's keyboard
// starts a new line.
export const coarse = () => matchMedia('(pointer: coarse)').matches;
