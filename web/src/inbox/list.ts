import type { InboxItem } from '../api/types';

// withOpened adds the open item to a list, newest first, that no longer has it: one that was unread, or is far down.
export function withOpened<Item extends Pick<InboxItem, 'id' | 'created_at'>>(items: Item[], opened: Item | undefined): Item[] {
  if (!opened || items.some((one) => one.id === opened.id)) return items;
  const at = items.findIndex((one) => one.created_at < opened.created_at);
  return items.toSpliced(at < 0 ? items.length : at, 0, opened);
}
