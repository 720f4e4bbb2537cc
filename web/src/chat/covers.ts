import type { ID, Message } from '../api/types';

// fromOf is the first message that a summary covers.
export const fromOf = ({ metadata }: Message): number => (typeof metadata.covers_from === 'number' ? metadata.covers_from : 1);

// revises is the version that a summary was edited from; null if a model wrote it.
export const revises = ({ metadata }: Message): ID | null => (typeof metadata.revises_id === 'string' ? metadata.revises_id : null);
