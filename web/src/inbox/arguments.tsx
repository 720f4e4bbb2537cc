import type { Approval } from '../api/types';
import { writingOf } from '../chat/writing';
import { Written } from '../chat/written';
import { Payload } from '../components/payload';

// Arguments are what would be called: a file as a file, everything else as it is.
export function Arguments({ approval }: { approval: Approval }) {
  const writing = writingOf(approval.tool_name, approval.arguments);
  return writing ? <Written writing={writing} former={null} /> : <Payload name="Arguments" tree text={JSON.stringify(approval.arguments, null, 2)} />;
}
