package prompt

import "example.org/parley"

// givenAgain finds the interrupted answers that a later turn was begun to repeat, by sequence; nil for none. They stay
// left out in all later turns too, or they would reappear in the middle of what the provider has cached. A turn that
// repeats an answer begins without a message of its own. rows are ascending; running may have no row among them yet.
func givenAgain(rows []parley.Message, running parley.Turn) (again map[int64]bool) {
	var last parley.ID                // the turn being read
	var interrupted []*parley.Message // its interrupted answers
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
