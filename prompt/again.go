package prompt

import "example.org/parley"

// givenAgain finds the interrupted answers that a later turn was begun to give
// again, by sequence; nil for none. They stay left out for good: in the turns after
// that one too, or else they would come back into the middle of what the provider
// has in its cache. A turn that gives an answer again begins without a message of
// its own. rows are ascending; running may have none among them yet.
func givenAgain(rows []parley.Message, running parley.Turn) (again map[int64]bool) {
	var last parley.ID                // the turn that is being read
	var interrupted []*parley.Message // its answers that were
	leaveOut := func() {
		for _, m := range interrupted {
			if again == nil {
				again = map[int64]bool{}
			}
			again[m.Sequence] = true
		}
	}
	for i := range rows {
		m := &rows[i]
		if m.TurnID.IsZero() {
			continue
		}
		if m.TurnID != last {
			if !last.IsZero() && m.Role != parley.RoleUser {
				leaveOut()
			}
			last, interrupted = m.TurnID, nil
		}
		if m.Status == parley.MessageCancelled && (m.Role == parley.RoleAssistant || m.Role == parley.RoleToolCall) {
			interrupted = append(interrupted, m)
		}
	}
	if !running.ContinuesID.IsZero() && last != running.ID {
		leaveOut()
	}
	return again
}
