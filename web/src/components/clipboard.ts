// copyText puts text into the clipboard. Browsers offer the clipboard API without TLS
// only on this machine; elsewhere a selection is copied.
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  const focused = document.activeElement;
  area.value = text;
  area.className = 'sr-only';
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!copied) throw new Error('The browser does not let this page copy. Select the text and copy it.');
}
