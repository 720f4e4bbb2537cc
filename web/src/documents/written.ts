import type { ID, Message } from '../api/types';
import { isJson } from '../components/json';

const TOOLS = new Set<string | null>(['write_artifact', 'edit_artifact']);

// writesDocument reports the tools that write a version of a document.
export const writesDocument = (tool: string | null): boolean => TOOLS.has(tool);

// Written is what a call of one of them answered.
export interface Written {
  id: ID;
  name: string;
  version: number;
}

// writtenBy reads the result of a call; null for a failed one.
export function writtenBy(result: Message | undefined): Written | null {
  const answer = result?.content.success ? result.content.parts?.find((part) => part.type === 'object')?.object : null;
  return isJson(answer) && 'id' in answer && 'version' in answer && typeof answer.id === 'string' && typeof answer.version === 'number' ? (answer as unknown as Written) : null;
}
