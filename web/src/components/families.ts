import type { ID, Session } from '../api/types';

// Family is a conversation with the branches that began in it, or in one of them.
export interface Family {
  session: Session;
  branches: Session[];
  newest: Session; // the one with the last activity
}

const DEEPEST = 50; // branches of branches

// familiesOf folds a list, newest activity first, into families. A branch whose origin is
// not in the list, and a pinned one, stands by itself.
export function familiesOf(rows: Session[]): Family[] {
  const listed = new Map(rows.map((session) => [session.id, session]));
  const originOf = (session: Session): Session => {
    let origin = session;
    for (let depth = 0; depth < DEEPEST && !origin.pinned && origin.forked_through !== null; depth++) {
      const above = listed.get(origin.parent_session_id ?? '');
      if (!above) break;
      origin = above;
    }
    return origin;
  };
  const families = new Map<ID, Family>();
  for (const session of rows) {
    const origin = originOf(session);
    const family = families.get(origin.id);
    if (!family) families.set(origin.id, { session: origin, branches: origin === session ? [] : [session], newest: session });
    else if (session !== origin) family.branches.push(session);
  }
  return [...families.values()];
}
