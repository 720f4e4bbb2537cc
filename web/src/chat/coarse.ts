// coarse tells that fingers are used: nothing is pointed at, and Enter on the keyboard
// of a screen begins a line.
export const coarse = () => matchMedia('(pointer: coarse)').matches;
