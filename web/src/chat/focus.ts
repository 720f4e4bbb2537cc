// The composer keeps the focus when sending a message opens a new conversation.

let goesOn = false;

// writeOn makes the next page focus its composer.
export function writeOn(): void {
  goesOn = true;
}

// takeWriteOn reports once whether writeOn was called.
export function takeWriteOn(): boolean {
  const asked = goesOn;
  goesOn = false;
  return asked;
}

// focusComposer focuses the composer.
export function focusComposer(): void {
  document.querySelector<HTMLElement>('[data-composer]')?.focus();
}
