// Drafts are kept per conversation until the server has accepted them.

const PREFIX = 'parley.draft.';
const LONGEST = 200_000; // characters

export function readDraft(key: string): string {
  return localStorage.getItem(PREFIX + key) ?? '';
}

export function keepDraft(key: string, text: string): void {
  if (text === '') localStorage.removeItem(PREFIX + key);
  else if (text.length <= LONGEST) {
    try {
      localStorage.setItem(PREFIX + key, text);
    } catch {
      // storage is full: the field itself still has the text
    }
  }
}
