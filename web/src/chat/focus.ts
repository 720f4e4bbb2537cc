// Where one writes: a conversation that was begun by sending goes on there.

let goesOn = false;

// writeOn has the next page that opens put the focus where one writes.
export function writeOn(): void {
  goesOn = true;
}

// takeWriteOn tells whether that was asked for, once.
export function takeWriteOn(): boolean {
  const asked = goesOn;
  goesOn = false;
  return asked;
}

// focusComposer puts the focus where one writes.
export function focusComposer(): void {
  document.querySelector<HTMLElement>('[data-composer]')?.focus();
}
